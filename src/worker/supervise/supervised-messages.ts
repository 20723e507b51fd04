/** What a supervisor asks of a worker process. */
export type ToSupervised =
  /** As the first signal does. */
  | { readonly kind: 'stop' }
  /** As a second one does. */
  | { readonly kind: 'hurry' };

/** What it is told: the worker claims tasks; it has ended in order, with nothing left behind. */
export interface FromSupervised {
  readonly kind: 'started' | 'stopped';
}
