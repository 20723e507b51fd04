import type { Queryable } from '../../lib/database.ts';

/** List the types that a worker has registered or an operator has added. */
export async function knownTypes(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ name: string }>({ text: 'select name from taskq.known_types() as name' });
  return rows.map((row) => row.name);
}
