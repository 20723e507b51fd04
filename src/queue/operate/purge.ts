import type { Queryable } from '../../lib/database.ts';
import type { ActingOnTasks } from './acting.ts';
import type { HeldKey } from './keys.ts';

export interface PurgeAnswer {
  readonly id: string;
  readonly answer: 'purged' | 'not_finished';
  /** The status of a task that is not finished; null: no such task is known. */
  readonly status: string | null;
  /** A key that outlives the task and stays held; null: none. `taskq keys release` frees it. */
  readonly held_key: HeldKey | null;
}

/** Erase finished tasks with the errors of their attempts. Returns a row for each. */
export function purge(
  db: Queryable,
  ids: readonly string[],
  { queues, by, reason, filter }: ActingOnTasks = {},
): Promise<PurgeAnswer[]> {
  return db.query<PurgeAnswer>({
    text: "select id, answer, extra ->> 'status' as status, extra -> 'held_key' as held_key from taskq.purge($1, $2)",
    values: [ids, JSON.stringify({ queues, by, reason, filter })],
  });
}
