import type { Queryable } from '../../lib/database.ts';

/** Ask a worker to end as on SIGTERM. False: there is no such worker, or it has ended. */
export async function stopWorker(db: Queryable, workerId: string, by: string): Promise<boolean> {
  const rows = await db.query<{ asked: boolean }>({
    text: 'select taskq.stop_worker($1, $2) as asked',
    values: [workerId, by],
  });
  return rows[0]!.asked;
}
