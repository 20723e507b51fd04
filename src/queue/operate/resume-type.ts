import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/** Close the open breaker of a type. False: it was not open. */
export async function resumeType(db: Queryable, type: string, { by, reason }: Acting = {}): Promise<boolean> {
  const rows = await db.query<{ resumed: boolean }>({
    text: 'select taskq.resume_type($1, $2) as resumed',
    values: [type, JSON.stringify({ by, reason })],
  });
  return rows[0]!.resumed;
}
