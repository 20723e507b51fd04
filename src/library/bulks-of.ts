import { TaskqError } from '../lib/errors.ts';
import {
  type AllowUnknown,
  BULK_LENGTH,
  BULK_TASKS,
  type Bulk,
  bulkOf,
  type NewTask,
} from '../queue/protocol/enqueue.ts';

export interface BulkRules<Item> {
  /** Checks an item and converts it to a task. */
  readonly taskOf: (item: Item) => NewTask | Promise<NewTask>;
  readonly allowUnknown: AllowUnknown;
  /** Send no NOTIFY. */
  readonly notify?: false | undefined;
}

/**
 * Yields the items as bulks, holding at most one in memory. An item that cannot be enqueued throws its error, with its
 * place from 1 on.
 */
export async function* bulksOf<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  { taskOf, allowUnknown, notify }: BulkRules<Item>,
): AsyncGenerator<Bulk> {
  let batch: NewTask[] = [];
  let length = 0;
  let place = 0;
  for await (const item of items) {
    place += 1;
    let task: NewTask;
    try {
      const made = taskOf(item);
      task = made instanceof Promise ? await made : made;
    } catch (error) {
      throw namingPlace(error, place);
    }
    batch.push(task);
    length += task.payload.length;
    if (batch.length < BULK_TASKS && length < BULK_LENGTH) continue;
    yield bulkOf(batch, allowUnknown, notify);
    batch = [];
    length = 0;
  }
  if (batch.length > 0) yield bulkOf(batch, allowUnknown, notify);
}

/** Adds the task's place to the message, as `taskq.enqueue_many` does. */
function namingPlace(error: unknown, place: number): unknown {
  if (error instanceof TaskqError) error.message = `task ${place} cannot be enqueued: ${error.message}`;
  return error;
}
