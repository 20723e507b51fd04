import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/** Set the settings of a type that override those of workers, by column; null removes a setting. */
export async function setType(
  db: Queryable,
  type: string,
  settings: Readonly<Record<string, unknown>>,
  { by, reason }: Acting = {},
): Promise<void> {
  await db.query({
    text: 'select taskq.set_type($1, $2, $3)',
    values: [type, JSON.stringify(settings), JSON.stringify({ by, reason })],
  });
}
