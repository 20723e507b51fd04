import type { Queryable } from '../lib/database.ts';

export interface DiscardAnswer {
  readonly id: string;
  readonly answer: 'discarded' | 'not_dead';
  /** Of one that is not dead; null: nothing is known of it. */
  readonly status: string | null;
}

/** Delete dead letters for good. A row for each. */
export function discard(db: Queryable, ids: readonly string[]): Promise<DiscardAnswer[]> {
  return db.query<DiscardAnswer>({
    text: "select id, answer, extra ->> 'status' as status from taskq.discard($1)",
    values: [ids],
  });
}
