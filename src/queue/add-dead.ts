import type { Queryable } from '../lib/database.ts';

/**
 * Put a waiting task among the dead letters by hand, or give a dead one another reason. `held`: it is running,
 * cancel it first. `not_live`: finished, or never there.
 */
export async function addDead(
  db: Queryable,
  id: string,
  reason: string,
): Promise<'dead' | 'held' | 'not_live'> {
  const rows = await db.query<{ answer: 'dead' | 'held' | 'not_live' }>({
    text: 'select taskq.add_dead($1, $2) as answer',
    values: [id, reason],
  });
  return rows[0]!.answer;
}
