import type { Queryable } from '../../lib/database.ts';
import type { ActingOnTasks } from './acting.ts';
import type { HeldKey } from './keys.ts';

export interface DiscardAnswer {
  readonly id: string;
  /** `left_out`: `byHand` excludes it. */
  readonly answer: 'discarded' | 'left_out' | 'not_dead';
  /** The status of a task that is not dead; null: no such task is known. */
  readonly status: string | null;
  /** A key that outlives the task and stays held; null: none. `taskq keys release` frees it. */
  readonly held_key: HeldKey | null;
}

export interface DiscardOptions extends ActingOnTasks {
  /** False: all except those added by hand. True: only those. */
  readonly byHand?: boolean | undefined;
}

/** Delete dead letters for good. Returns a row for each. */
export function discard(
  db: Queryable,
  ids: readonly string[],
  { byHand, queues, by, reason, filter }: DiscardOptions = {},
): Promise<DiscardAnswer[]> {
  return db.query<DiscardAnswer>({
    text: "select id, answer, extra ->> 'status' as status, extra -> 'held_key' as held_key from taskq.discard($1, $2)",
    values: [ids, JSON.stringify({ by_hand: byHand, queues, by, reason, filter })],
  });
}
