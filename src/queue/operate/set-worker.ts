import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/** What can be changed of a running worker; absent: unchanged. */
export interface WorkerSettings {
  readonly concurrency?: number;
  readonly poll_ms?: number;
  /** The requested lease: in force once the worker has adopted it for all that it holds. */
  readonly lease_ms?: number;
  readonly batch?: 'auto' | number;
  /** Null: every queue. */
  readonly queues?: readonly string[] | null;
}

/** Change a running worker. False: there is no such worker, or it has ended. */
export async function setWorker(
  db: Queryable,
  workerId: string,
  settings: WorkerSettings,
  { by, reason }: Acting = {},
): Promise<boolean> {
  const rows = await db.query<{ found: boolean }>({
    text: 'select taskq.set_worker($1, $2, $3) as found',
    values: [workerId, JSON.stringify(settings), JSON.stringify({ by, reason })],
  });
  return rows[0]!.found;
}
