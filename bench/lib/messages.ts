/** A message from the bench to a worker process. */
export type ToWorker = { readonly kind: 'go' } | { readonly kind: 'stop' };

/** A message from a worker process to the bench. */
export type FromWorker =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'progress';
      readonly done: number;
      readonly starts: readonly (readonly [n: number, at: number])[];
      readonly rssBytes: number;
    }
  | {
      readonly kind: 'stopped';
      readonly cpuMs: number;
      readonly rssBytes: number;
      /** CPU time of the process when its first task started, Node's own start included; undefined: none did. */
      readonly startUpCpuMs: number | undefined;
      /** What it used, and did, after its first `WARM_TASKS`. */
      readonly steady: { readonly cpuMs: number; readonly tasks: number };
    };
