import type { Queryable } from '../lib/database.ts';

export interface CancelAnswer {
  readonly id: string;
  /** `requested`: it is held, and its worker was told. `not_live`: finished, dead, or never there. */
  readonly answer: 'cancelled' | 'requested' | 'not_live';
}

/** Cancel tasks by id. A row for each. */
export function cancel(
  db: Queryable,
  ids: readonly string[],
  reason: string | null = null,
): Promise<CancelAnswer[]> {
  return db.query<CancelAnswer>({
    text: 'select id, answer from taskq.cancel($1, $2)',
    values: [ids, reason],
  });
}
