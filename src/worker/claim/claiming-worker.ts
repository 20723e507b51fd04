import type { RegisteredWorker } from '../lease/registered-worker.ts';

/** A worker that claims. */
export interface ClaimingWorker extends RegisteredWorker {
  /** Those it has handlers for now. Another array is another set. */
  readonly types: readonly string[];
  /** Those it serves now, whether they have tasks or not; null: every one that has tasks. */
  readonly queues: readonly string[] | null;
  /** A statement failed that is tried again. */
  onTrouble(error: unknown): void;
}
