import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

export interface CancelAnswer {
  readonly id: string;
  /** `requested`: it is held, and its worker was told. */
  readonly answer: 'cancelled' | 'requested' | 'not_live';
  /** Of one that does not live; null: nothing is known of it. */
  readonly status: string | null;
}

export interface CancelOptions extends Acting {
  /** Be told by `taskq_done` when a held one has ended, and find it then, whatever its retention. */
  readonly notifyDone?: true;
}

/** Cancel tasks by id. A row for each. */
export function cancel(
  db: Queryable,
  ids: readonly string[],
  reason: string | null = null,
  { notifyDone, by }: CancelOptions = {},
): Promise<CancelAnswer[]> {
  return db.query<CancelAnswer>({
    text: "select id, answer, extra ->> 'status' as status from taskq.cancel($1, $2, $3)",
    values: [ids, reason, JSON.stringify({ notify_done: notifyDone, by })],
  });
}
