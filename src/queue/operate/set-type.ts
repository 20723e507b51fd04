import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/** Set what applies to the tasks of a type, above what workers say, by column; null takes a setting away. */
export async function setType(
  db: Queryable,
  type: string,
  settings: Readonly<Record<string, unknown>>,
  { by }: Acting = {},
): Promise<void> {
  await db.query({
    text: 'select taskq.set_type($1, $2, $3)',
    values: [type, JSON.stringify(settings), JSON.stringify({ by })],
  });
}
