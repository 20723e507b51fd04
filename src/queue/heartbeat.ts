import type { Lease } from '../domain/task.ts';
import type { Queryable } from '../lib/database.ts';

export interface HeldTask extends Lease {
  /** Milliseconds since it started; null: it is claimed ahead. */
  readonly startedMs: number | null;
}

export interface HeartbeatAnswer extends Lease {
  /** `busy`: another transaction has the row locked; ask again. */
  readonly answer: 'renewed' | 'lost' | 'busy';
  readonly cancelRequested: boolean;
  readonly cancelReason: string | null;
}

export interface HeartbeatRequest {
  readonly workerId: number;
  readonly held: readonly HeldTask[];
  readonly leaseMs: number;
  /** The worker's claim cursor, stored for workers that start later; undefined leaves the stored one. */
  readonly cursors?: unknown;
  /** How many tasks the worker has in slots and claimed ahead, for those who look at it; absent: as it was. */
  readonly counts?: { readonly running: number; readonly ahead: number };
}

/** Renew what needs it of a worker's leases and learn which tasks are lost or asked to be cancelled. */
export async function heartbeat(db: Queryable, request: HeartbeatRequest): Promise<HeartbeatAnswer[]> {
  const { workerId, held, leaseMs, cursors, counts } = request;
  const rows = await db.query<{
    id: string;
    lease_no: number;
    answer: HeartbeatAnswer['answer'];
    cancel_requested: boolean | null;
    cancel_reason: string | null;
  }>({
    name: 'taskq_heartbeat',
    text: 'select id, lease_no, answer, cancel_requested, cancel_reason from taskq.heartbeat($1, $2, $3, $4, $5, $6)',
    values: [
      workerId,
      held.map((task) => task.id),
      held.map((task) => task.leaseNo),
      held.map((task) => task.startedMs),
      leaseMs,
      JSON.stringify({ cursors, ...counts }),
    ],
  });
  return rows.map((row) => ({
    id: row.id,
    leaseNo: row.lease_no,
    answer: row.answer,
    cancelRequested: row.cancel_requested === true,
    cancelReason: row.cancel_reason,
  }));
}
