import type { Queryable } from '../lib/database.ts';

export interface Idle {
  /** In how many milliseconds the next task of the queues is due; null: none waits. */
  readonly dueMs: number | null;
  /** The queues served: those asked for, or all that have a live task. */
  readonly queues: readonly string[];
}

/**
 * Mark a worker as asleep for at most `ms`, so that producers wake it; null queues: all. Claim once more after this.
 */
export async function markIdle(
  db: Queryable,
  workerId: number,
  queues: readonly string[] | null,
  ms: number,
): Promise<Idle> {
  const rows = await db.query<{ due_ms: number | null; queues: string[] }>({
    name: 'taskq_mark_idle',
    text: 'select due_ms, queues from taskq.mark_idle($1, $2, $3)',
    values: [workerId, queues, Math.ceil(ms)],
  });
  return { dueMs: rows[0]!.due_ms, queues: rows[0]!.queues };
}

/** Take the mark away: the worker is awake. */
export async function unmarkIdle(db: Queryable, workerId: number): Promise<void> {
  await db.query({ name: 'taskq_unmark_idle', text: 'select taskq.unmark_idle($1)', values: [workerId] });
}
