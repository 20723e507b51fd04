import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/** `handled`: a live worker handles it, so it stays known. */
export type TypeRemoval = 'removed' | 'handled' | 'not_known';

/** Make a type unknown, and delete its settings. */
export async function removeType(
  db: Queryable,
  type: string,
  { by, reason }: Acting = {},
): Promise<TypeRemoval> {
  const rows = await db.query<{ answer: TypeRemoval }>({
    text: 'select taskq.remove_type($1, $2) as answer',
    values: [type, JSON.stringify({ by, reason })],
  });
  return rows[0]!.answer;
}
