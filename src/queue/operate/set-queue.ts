import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/** Settings for the tasks of a queue that set none of their own; null: not set, absent: unchanged. */
export interface QueueSettings {
  readonly max_attempts?: number | null;
  readonly timeout_ms?: number | null;
  readonly expires_ms?: number | null;
  readonly backoff?: object | null;
  readonly retention?: string | null;
  readonly errors_retention?: string | null;
  readonly dead_retention?: string | null;
  readonly group_limit?: number | null;
  readonly group_order?: string | null;
  readonly group_on_dead?: string | null;
  readonly group_by?: string | null;
  readonly max_running?: number | null;
  readonly rate?: string | null;
  readonly burst?: number | null;
}

/** Change the settings for the tasks of a queue. */
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
