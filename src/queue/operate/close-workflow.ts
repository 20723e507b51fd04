import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/** Close an open workflow. False: it was closed already. */
export async function closeWorkflow(db: Queryable, id: string, { by, reason }: Acting): Promise<boolean> {
  const rows = await db.query<{ closed: boolean }>({
    text: 'select taskq.close_workflow($1, $2) as closed',
    values: [id, JSON.stringify({ by, reason })],
  });
  return rows[0]!.closed;
}
