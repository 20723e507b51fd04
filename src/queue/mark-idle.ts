import type { Queryable } from '../lib/database.ts';

/**
 * Mark a worker as asleep for at most `ms`, so that producers wake it. Returns in how many milliseconds the next
 * task of these queues is due; null: none waits. Claim once more after this.
 */
export async function markIdle(
  db: Queryable,
  workerId: number,
  queues: readonly string[],
  ms: number,
): Promise<number | null> {
  const rows = await db.query<{ due_ms: number | null }>({
    name: 'taskq_mark_idle',
    text: 'select taskq.mark_idle($1, $2, $3) as due_ms',
    values: [workerId, queues, Math.ceil(ms)],
  });
  return rows[0]!.due_ms;
}

/** Take the mark away: the worker is awake. */
export async function unmarkIdle(db: Queryable, workerId: number): Promise<void> {
  await db.query({ name: 'taskq_unmark_idle', text: 'select taskq.unmark_idle($1)', values: [workerId] });
}
