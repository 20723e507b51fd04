import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';
import type { HeldKey } from './keys.ts';

export interface DiscardAnswer {
  readonly id: string;
  /** `left_out`: it was put away by hand, or was not, and the others are meant. */
  readonly answer: 'discarded' | 'left_out' | 'not_dead';
  /** Of one that is not dead; null: nothing is known of it. */
  readonly status: string | null;
  /** A key that it holds beyond its end, and holds on; null: none. `taskq keys release` frees it. */
  readonly held_key: HeldKey | null;
}

export interface DiscardOptions extends Acting {
  /** False: all but those put away by hand. True: those alone. */
  readonly byHand?: boolean | undefined;
}

/** Delete dead letters for good. A row for each. */
export function discard(
  db: Queryable,
  ids: readonly string[],
  { byHand, by }: DiscardOptions = {},
): Promise<DiscardAnswer[]> {
  return db.query<DiscardAnswer>({
    text: "select id, answer, extra ->> 'status' as status, extra -> 'held_key' as held_key from taskq.discard($1, $2)",
    values: [ids, JSON.stringify({ by_hand: byHand, by })],
  });
}
