import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/**
 * Make a waiting task a dead letter by hand, or change the reason of a dead one. `held`: a worker holds it, cancel it
 * first. `not_live`: it has finished or never existed.
 */
export async function addDead(
  db: Queryable,
  id: string,
  reason: string,
  { by }: Omit<Acting, 'reason'> = {},
): Promise<'dead' | 'held' | 'not_live'> {
  const rows = await db.query<{ answer: 'dead' | 'held' | 'not_live' }>({
    text: 'select taskq.add_dead($1, $2, $3) as answer',
    values: [id, reason, JSON.stringify({ by })],
  });
  return rows[0]!.answer;
}
