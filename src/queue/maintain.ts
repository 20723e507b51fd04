import type { Queryable } from '../lib/database.ts';

/** Do a page of the housekeeping; empty counts: another worker is at it. */
export async function maintain(db: Queryable): Promise<Readonly<Record<string, number>>> {
  const rows = await db.query<{ done: Record<string, number> }>({ text: 'select taskq.maintain() as done' });
  return rows[0]!.done;
}

/** Make the partitions of history that are missing. Returns how many. */
export async function ensurePartitions(db: Queryable): Promise<number> {
  const rows = await db.query<{ made: number }>({ text: 'select taskq.ensure_partitions() as made' });
  return rows[0]!.made;
}
