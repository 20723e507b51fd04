import type { Queryable } from '../../lib/database.ts';
import { type ContextDocument, contextOf, type StoredContext } from './claim-context.ts';
import type { UpcomingSchedule } from './fire-schedule.ts';

export interface Idle {
  /**
   * Milliseconds until the next task of these queues and types is due; null: none waits, or the request left it out.
   */
  readonly dueMs: number | null;
  readonly context: StoredContext;
  /** The schedules that fire next. */
  readonly upcoming: readonly UpcomingSchedule[];
}

export interface IdleWorker {
  readonly workerId: number;
  /** The queues it serves; null: all. */
  readonly queues: readonly string[] | null;
  readonly types: readonly string[];
  /** The queues to ask about when it serves all; avoids a search for them. */
  readonly known?: readonly string[];
  /** False: do not ask when the next task is due. */
  readonly due?: false;
}

/** Mark a worker as asleep for at most `ms`, so that producers wake it. Claim once more after this. */
export async function markIdle(
  db: Queryable,
  { workerId, queues, types, ...options }: IdleWorker,
  ms: number,
): Promise<Idle> {
  const rows = await db.query<{
    due_ms: number | null;
    context: ContextDocument;
    extra: { readonly schedules: readonly UpcomingSchedule[] | null } | null;
  }>({
    name: 'taskq_mark_idle',
    text: 'select due_ms, context, extra from taskq.mark_idle($1, $2, $3, $4, $5)',
    values: [workerId, queues, Math.ceil(ms), types, JSON.stringify(options)],
  });
  const { due_ms: dueMs, context, extra } = rows[0]!;
  return { dueMs, context: contextOf(context), upcoming: extra?.schedules ?? [] };
}

/** Remove the mark: the worker is awake. */
export async function unmarkIdle(db: Queryable, workerId: number): Promise<void> {
  await db.query({ name: 'taskq_unmark_idle', text: 'select taskq.unmark_idle($1)', values: [workerId] });
}
