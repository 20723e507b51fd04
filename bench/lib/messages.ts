/** What the bench tells a worker's process. */
export type ToWorker = { readonly kind: 'go' } | { readonly kind: 'stop' };

/** What a worker's process tells the bench. */
export type FromWorker =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'progress';
      readonly done: number;
      readonly starts: readonly (readonly [n: number, at: number])[];
      readonly rssBytes: number;
    }
  | { readonly kind: 'stopped'; readonly cpuMs: number; readonly rssBytes: number };
