import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';
import type { HeldKey } from './keys.ts';

export interface PurgeAnswer {
  readonly id: string;
  readonly answer: 'purged' | 'not_finished';
  /** Of one that is not finished; null: nothing is known of it. */
  readonly status: string | null;
  /** A key that it holds beyond its end, and holds on; null: none. `taskq keys release` frees it. */
  readonly held_key: HeldKey | null;
}

/** Erase finished tasks with the errors of their attempts. A row for each. */
export function purge(db: Queryable, ids: readonly string[], { by }: Acting = {}): Promise<PurgeAnswer[]> {
  return db.query<PurgeAnswer>({
    text: "select id, answer, extra ->> 'status' as status, extra -> 'held_key' as held_key from taskq.purge($1, $2)",
    values: [ids, JSON.stringify({ by })],
  });
}
