import type { Queryable } from '../../lib/database.ts';
import type { ActingOnTasks } from './acting.ts';

export interface CancelAnswer {
  readonly id: string;
  /** `requested`: a worker holds it and was asked to end it. */
  readonly answer: 'cancelled' | 'requested' | 'not_live';
  /** The status of a task that is not live; null: no such task is known. */
  readonly status: string | null;
  /** Its worker's lease has run out: the task is cancelled when a worker rescues it. */
  readonly leaseExpired?: true;
}

export interface CancelOptions extends Omit<ActingOnTasks, 'reason'> {
  /** Send `taskq_done` when a held task has ended, and keep it findable after that, whatever its retention. */
  readonly notifyDone?: true;
}

/** Cancel tasks by id. Returns a row for each. */
export async function cancel(
  db: Queryable,
  ids: readonly string[],
  reason: string | null = null,
  { notifyDone, queues, by, filter }: CancelOptions = {},
): Promise<CancelAnswer[]> {
  const rows = await db.query<Omit<CancelAnswer, 'leaseExpired'> & { lease_expired: boolean | null }>({
    text: `select id, answer, extra ->> 'status' as status, (extra ->> 'lease_expired')::boolean as lease_expired
      from taskq.cancel($1, $2, $3)`,
    values: [ids, reason, JSON.stringify({ notify_done: notifyDone, queues, by, filter })],
  });
  return rows.map(({ lease_expired, ...answer }) =>
    lease_expired === true ? { ...answer, leaseExpired: true } : answer,
  );
}
