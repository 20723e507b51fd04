import type { Queryable } from '../../lib/database.ts';

/** The types that some worker has registered, or somebody has added. */
export async function knownTypes(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ name: string }>({ text: 'select name from taskq.known_types() as name' });
  return rows.map((row) => row.name);
}
