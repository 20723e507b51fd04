import type { Queryable } from '../lib/database.ts';

/** `handled`: a live worker handles it, and it stays known. */
export type TypeRemoval = 'removed' | 'handled' | 'not_known';

/** Make a type unknown, with what was set for it. */
export async function removeType(db: Queryable, type: string): Promise<TypeRemoval> {
  const rows = await db.query<{ answer: TypeRemoval }>({
    text: 'select taskq.remove_type($1) as answer',
    values: [type],
  });
  return rows[0]!.answer;
}
