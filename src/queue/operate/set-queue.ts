import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/** What applies to the tasks of a queue that do not say it themselves; null: not set, absent: as it is. */
export interface QueueSettings {
  readonly max_attempts?: number | null;
  readonly timeout_ms?: number | null;
  readonly expires_ms?: number | null;
  readonly backoff?: object | null;
  readonly retention?: string | null;
  readonly errors_retention?: string | null;
  readonly dead_retention?: string | null;
}

/** Set what applies to the tasks of a queue. */
export async function setQueue(
  db: Queryable,
  queue: string,
  settings: QueueSettings,
  { by }: Acting = {},
): Promise<void> {
  await db.query({
    text: 'select taskq.set_queue($1, $2, $3)',
    values: [queue, JSON.stringify(settings), JSON.stringify({ by })],
  });
}
