import type { Queryable } from '../lib/database.ts';

/** Whether the live table has so many dead rows, nobody has vacuumed it for so long, and we may. */
export async function isVacuumDue(
  db: Queryable,
  { deadRows, afterMs }: { readonly deadRows: number; readonly afterMs: number },
): Promise<boolean> {
  const rows = await db.query<{ due: boolean }>({
    name: 'taskq_vacuum_is_due',
    text: 'select taskq.vacuum_is_due($1, $2) as due',
    values: [deadRows, Math.ceil(afterMs)],
  });
  return rows[0]!.due;
}

/** A worker that ends waits for it no longer than this. What takes longer goes on in the server. */
const DEADLINE_MS = 2000;

/** Vacuum the live table; nothing where somebody is at it. Throws `deadline_passed` (TaskqError) after two seconds. */
export async function vacuum(db: Queryable): Promise<void> {
  await db.query({ text: 'vacuum (skip_locked) taskq.tasks', isAlone: true, deadlineMs: DEADLINE_MS });
}
