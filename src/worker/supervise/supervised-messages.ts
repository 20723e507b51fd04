/** What a supervisor asks a worker process to do. */
export type ToSupervised =
  /** Like the first signal. */
  | { readonly kind: 'stop' }
  /** Like the second signal. */
  | { readonly kind: 'hurry' };

/** What a worker process reports: it claims tasks, or it has ended in order and left nothing behind. */
export interface FromSupervised {
  readonly kind: 'started' | 'stopped';
}
