import type { Queryable } from '../../lib/database.ts';

/**
 * Find the statement that vacuums the live table. Undefined: it has fewer dead rows than that, or was vacuumed within
 * that time. Null: it is due, but this role may not vacuum it.
 */
export async function findDueVacuum(
  db: Queryable,
  { deadRows, afterMs }: { readonly deadRows: number; readonly afterMs: number },
): Promise<string | null | undefined> {
  const rows = await db.query<{ statement: string | null }>({
    name: 'taskq_due_vacuum',
    text: 'select taskq.due_vacuum($1, $2) as statement',
    values: [deadRows, Math.ceil(afterMs)],
  });
  const { statement } = rows[0]!;
  return statement === '' ? null : (statement ?? undefined);
}

/** The longest that an ending worker waits for it. A slower vacuum continues in the server. */
const DEADLINE_MS = 2000;

/** Run such a statement. Throws `deadline_passed` (TaskqError) after two seconds. */
export async function vacuum(db: Queryable, statement: string): Promise<void> {
  await db.query({ text: statement, isAlone: true, deadlineMs: DEADLINE_MS });
}
