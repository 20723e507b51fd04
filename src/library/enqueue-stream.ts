import { PartlyEnqueuedError } from '../domain/errors.ts';
import { isObject } from '../domain/thrown.ts';
import type { Queryable } from '../lib/database.ts';
import { TaskqError } from '../lib/errors.ts';
import {
  type AllowUnknown,
  BULK_LENGTH,
  BULK_TASKS,
  bulkOf,
  type Enqueued,
  enqueueCounted,
  enqueueMany,
  type NewTask,
} from '../queue/protocol/enqueue.ts';
import { refusalOf, troubleOf } from '../queue/protocol/refusal.ts';

export interface StreamOptions<Item> {
  /** Checks an item and converts it to a task. */
  readonly taskOf: (item: Item) => Promise<NewTask>;
  readonly allowUnknown: AllowUnknown;
  /** URL of the database, for error messages. */
  readonly databaseUrl?: string | undefined;
  /** Send no NOTIFY. */
  readonly notify?: false | undefined;
  /** Whether each batch is a transaction, or all are in the caller's. */
  readonly commits: 'each batch' | 'with the caller';
  /** Called with the answers of each batch, in the order of its tasks, once it is stored. */
  readonly onEnqueued?: ((answers: readonly Enqueued[]) => void) | undefined;
}

export interface Streamed {
  readonly created: number;
  /** Not created because their keys were held. */
  readonly existing: number;
}

/**
 * Enqueues the items of an iterable, one statement per batch, holding at most one batch in memory. If it fails and each
 * batch is a transaction, throws PartlyEnqueuedError, which counts the tasks that are enqueued.
 */
export async function enqueueStream<Item>(
  db: Queryable,
  items: Iterable<Item> | AsyncIterable<Item>,
  options: StreamOptions<Item>,
): Promise<Streamed> {
  let [done, created, sending] = [0, 0, 0];
  try {
    for await (const batch of batchesOf(items, options.taskOf)) {
      sending = batch.length;
      const bulk = bulkOf(batch, options.allowUnknown, options.notify);
      // Fetches ids only if the caller wants them.
      const answers = options.onEnqueued && (await enqueueMany(db, bulk));
      created += answers?.filter((answer) => answer.created).length ?? (await enqueueCounted(db, bulk));
      sending = 0;
      done += batch.length;
      if (answers) options.onEnqueued?.(answers);
    }
  } catch (error) {
    if (options.commits === 'with the caller') throw refusalOf(error, '');
    const cause = troubleOf(error, '', options.databaseUrl);
    throw new PartlyEnqueuedError(cause, done, isServerError(error) ? 0 : sending);
  }
  return { created, existing: done - created };
}

async function* batchesOf<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  taskOf: (item: Item) => Promise<NewTask>,
): AsyncGenerator<NewTask[]> {
  let batch: NewTask[] = [];
  let length = 0;
  let place = 0;
  for await (const item of items) {
    place += 1;
    const task = await taskOf(item).catch((error: unknown) => {
      throw namingPlace(error, place);
    });
    batch.push(task);
    length += task.payload.length;
    if (batch.length < BULK_TASKS && length < BULK_LENGTH) continue;
    yield batch;
    batch = [];
    length = 0;
  }
  if (batch.length > 0) yield batch;
}

/** Adds the task's position to the message, as `taskq.enqueue_many` does. */
function namingPlace(error: unknown, place: number): unknown {
  if (error instanceof TaskqError) error.message = `task ${place} cannot be enqueued: ${error.message}`;
  return error;
}

/** Whether the server refused the batch: it has stored nothing of it. */
function isServerError(error: unknown): boolean {
  return isObject(error) && 'severity' in error;
}
