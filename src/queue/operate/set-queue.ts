import type { QUEUE_SETTINGS, StoredChanges } from '../../domain/setting-tables.ts';
import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/** Settings for the tasks of a queue that set none of their own; null: not set, absent: unchanged. */
export type QueueSettings = StoredChanges<typeof QUEUE_SETTINGS>;

/** Change the settings for the tasks of a queue. */
export async function setQueue(
  db: Queryable,
  queue: string,
  settings: QueueSettings,
  { by, reason }: Acting = {},
): Promise<void> {
  await db.query({
    text: 'select taskq.set_queue($1, $2, $3)',
    values: [queue, JSON.stringify(settings), JSON.stringify({ by, reason })],
  });
}
