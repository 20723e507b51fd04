import type { UpcomingSchedule } from '../../queue/protocol/fire-schedule.ts';
import type { RegisteredWorker } from '../lease/registered-worker.ts';

/** A worker that claims tasks. */
export interface ClaimingWorker extends RegisteredWorker {
  /** The types it has handlers for now. A different array means a different set. */
  readonly types: readonly string[];
  /** The queues it serves now, with or without tasks; null: every queue that has tasks. */
  readonly queues: readonly string[] | null;
  /** The schedules that fire next, with the answer to its idle mark. */
  onUpcoming(upcoming: readonly UpcomingSchedule[]): void;
  /** A statement failed and will be retried. */
  onStatementFailed(error: unknown): void;
}
