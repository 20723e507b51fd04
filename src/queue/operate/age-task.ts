import type { Queryable } from '../../lib/database.ts';

/** Age a waiting task until it is due, as if the time had passed. False: the task does not wait for a time. */
export async function ageTask(db: Queryable, id: string): Promise<boolean> {
  const rows = await db.query<{ aged: boolean }>({ text: 'select taskq.age_task($1) as aged', values: [id] });
  return rows[0]!.aged;
}
