import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/** Stop a worker from claiming. False: there is no such worker, or it has ended. */
export async function pauseWorker(
  db: Queryable,
  workerId: string,
  { by, reason }: Acting = {},
): Promise<boolean> {
  const rows = await db.query<{ paused: boolean }>({
    text: 'select taskq.pause_worker($1, $2, $3) as paused',
    values: [workerId, by ?? null, reason ?? null],
  });
  return rows[0]!.paused;
}

/** Let a paused worker claim again. False: it was not paused. */
export async function resumeWorker(
  db: Queryable,
  workerId: string,
  { by, reason }: Acting = {},
): Promise<boolean> {
  const rows = await db.query<{ resumed: boolean }>({
    text: 'select taskq.resume_worker($1, $2) as resumed',
    values: [workerId, JSON.stringify({ by, reason })],
  });
  return rows[0]!.resumed;
}
