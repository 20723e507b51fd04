import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/** Ask a worker to end as on SIGTERM. False: there is no such worker, or it has ended. */
export async function stopWorker(
  db: Queryable,
  workerId: string,
  { by, reason }: Acting = {},
): Promise<boolean> {
  const rows = await db.query<{ asked: boolean }>({
    text: 'select taskq.stop_worker($1, $2, $3) as asked',
    values: [workerId, by ?? null, reason ?? null],
  });
  return rows[0]!.asked;
}
