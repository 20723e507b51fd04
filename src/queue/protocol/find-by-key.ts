import type { Queryable } from '../../lib/database.ts';

/** Find the id of the task that holds a key of a queue. Undefined: the key is free. */
export async function findByKey(db: Queryable, queue: string, key: string): Promise<string | undefined> {
  const rows = await db.query<{ id: string | null }>({
    text: 'select taskq.find_by_key($1, $2) as id',
    values: [queue, key],
  });
  return rows[0]!.id ?? undefined;
}
