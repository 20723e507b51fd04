import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/**
 * Put a waiting task among the dead letters by hand, or give a dead one another reason. `held`: it is running,
 * cancel it first. `not_live`: finished, or never there.
 */
export async function addDead(
  db: Queryable,
  id: string,
  reason: string,
  { by }: Acting = {},
): Promise<'dead' | 'held' | 'not_live'> {
  const rows = await db.query<{ answer: 'dead' | 'held' | 'not_live' }>({
    text: 'select taskq.add_dead($1, $2, $3) as answer',
    values: [id, reason, JSON.stringify({ by })],
  });
  return rows[0]!.answer;
}
