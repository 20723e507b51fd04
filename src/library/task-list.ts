import type { EditChanges } from '../domain/edit-changes.ts';
import type { BulkResult } from '../queue/operate/bulk.ts';
import type { CancelAnswer } from '../queue/operate/cancel.ts';
import type { EditAnswer } from '../queue/operate/edit.ts';
import type { RerunAnswer } from '../queue/operate/rerun.ts';
import type { RetryAnswer } from '../queue/operate/retry.ts';
import type { ReviveAnswer } from '../queue/operate/revive.ts';
import type { ActingSettings } from './acting-settings.ts';
import type { DiscardAnswer, PurgeAnswer } from './deletion.ts';
import type { TaskRecord } from './task-record.ts';

export interface TaskPage<Task> {
  /** Newest first; if only dead letters, by time of death. */
  readonly tasks: readonly Task[];
  /** Pass as `after` for the next page; null if this is the last. */
  readonly after: string | null;
}

/** Settings of an action on all tasks of a list. */
export interface BulkSettings extends ActingSettings {
  /** Maximum number of tasks, newest first; default: all. */
  readonly limit?: number;
  /** Aborting it stops the action, which returns what it has done. */
  readonly signal?: AbortSignal;
  /** Required if the list has no filter: confirms that every task is meant. */
  readonly all?: true;
}

export interface CancelManySettings extends Omit<BulkSettings, 'reason'> {
  /** Reason for the record, shown with the tasks. */
  readonly reason?: string | null;
}

export interface ReviveManySettings extends BulkSettings {
  /** Replaces the payloads. */
  readonly payload?: unknown;
  /** Wait this long before the first attempt. */
  readonly delay?: string | number;
  /** Number of attempts from now on. */
  readonly maxAttempts?: number | 'unlimited';
}

export interface RerunManySettings extends BulkSettings {
  /** Replaces the payloads. */
  readonly payload?: unknown;
  /** Wait this long before the first attempt. */
  readonly delay?: string | number;
}

export interface PageOptions {
  /** Maximum number of tasks; default 100. */
  readonly limit?: number;
  /** The `after` of the previous page. */
  readonly after?: string | null;
}

/**
 * The tasks that match a filter, newest first; if only dead letters, by time of death. Iterate over it to read all of
 * them, a page at a time as needed; ask for one page, for a list that people browse; or act on all of them.
 *
 * An action applies only to tasks with the statuses it is for, even if others match. It works in pages, each a
 * transaction: what is done stays done if a later page fails or `signal` is aborted. It resolves to `counts`, the
 * number of tasks by answer (empty if none matched), and `answers`, those that need attention, at most the first
 * thousand. It throws TaskqError `bad_option` for a filter that the action does not take, or if the list has no filter
 * and `all` is not set.
 */
export interface TaskList<Task = TaskRecord> extends AsyncIterable<Task> {
  /**
   * Returns one page, after searching for a second at most. If few tasks of a large history match the filter, it may
   * have fewer tasks than `limit`, or none, although its `after` shows that there may be more. Throws TaskqError for an
   * invalid option.
   */
  page(options?: PageOptions): Promise<TaskPage<Task>>;
  /**
   * Cancels the live tasks: waiting ones at once (`cancelled`), the workers of running ones are asked to end them
   * (`requested`, also in `answers`; `wait(id)` resolves with how they end).
   */
  cancel(settings?: CancelManySettings): Promise<BulkResult<CancelAnswer>>;
  /** Makes pending tasks due now, whatever they wait for (`retried`); those that were due keep their place (`due`). */
  retry(settings?: BulkSettings): Promise<BulkResult<RetryAnswer>>;
  /**
   * Changes the waiting tasks, as `edit(id)` does (`edited`). One that is locked (`busy`), whose key is held in the new
   * queue (`key_held`), or which is `refused`, stays as it is, and is in `answers`. Throws InvalidPayloadError if the
   * schema of a handler refuses the new payload.
   */
  edit(changes: EditChanges, settings?: BulkSettings): Promise<BulkResult<EditAnswer>>;
  /**
   * Reruns the finished tasks, each as a new task, as `rerun(id)` does (`enqueued`). One whose key is held (`key_held`),
   * whose payload its handler's schema refuses (`invalid_payload`), or which the database refuses (`refused`), is left
   * out, and in `answers`.
   */
  rerun(settings?: RerunManySettings): Promise<BulkResult<RerunAnswer>>;
  /**
   * Revives the dead letters, except those added by hand unless the filter says `byHand` (`revived`). One whose key is
   * held (`key_held`), or which the database refuses (`refused`), is left out, and in `answers`. Throws
   * InvalidPayloadError if the schema of a handler refuses the new payload.
   */
  revive(settings?: ReviveManySettings): Promise<BulkResult<ReviveAnswer>>;
  /** Deletes the finished tasks for good (`purged`). `answers` has those whose key stays held. */
  purge(settings?: BulkSettings): Promise<BulkResult<PurgeAnswer>>;
  /**
   * Deletes the dead letters for good, except those added by hand unless the filter says `byHand` (`discarded`).
   * `answers` has those whose key stays held.
   */
  discard(settings?: BulkSettings): Promise<BulkResult<DiscardAnswer>>;
}
