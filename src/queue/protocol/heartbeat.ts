import type { Lease } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';
import { type Orders, ordersOf, type StoredOrders } from './orders.ts';

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
  /** What others are to judge this worker by from now on; absent: as it was. */
  readonly inForceMs?: number;
  /** Answered later, it is worth nothing; absent: as the connection has it. */
  readonly deadlineMs?: number;
  /** The worker's claim cursor, stored for workers that start later; undefined leaves the stored one. */
  readonly cursors?: unknown;
  /** How many tasks the worker has in slots and claimed ahead, for those who look at it; absent: as it was. */
  readonly counts?: { readonly running: number; readonly ahead: number };
}

export interface Heartbeat {
  /** One for each lease that was named. */
  readonly answers: readonly HeartbeatAnswer[];
  /** What operators want of the worker; undefined: its row is gone. */
  readonly orders: Orders | undefined;
  /** The lease that others judged it by until this heartbeat; undefined: its row is gone. */
  readonly judgedByMs: number | undefined;
}

/** Renew what needs it of a worker's leases, and learn which tasks are lost or asked to be cancelled. */
export async function heartbeat(db: Queryable, request: HeartbeatRequest): Promise<Heartbeat> {
  const { workerId, held, leaseMs, inForceMs, deadlineMs, cursors, counts } = request;
  const rows = await db.query<{
    orders: StoredOrders | null;
    /** Null: no lease was named. */
    id: string | null;
    lease_no: number;
    answer: HeartbeatAnswer['answer'];
    cancel_requested: boolean | null;
    cancel_reason: string | null;
  }>({
    name: 'taskq_heartbeat',
    text: `select orders, id, lease_no, answer, cancel_requested, cancel_reason
      from taskq.get_orders($1) as orders
      left join taskq.heartbeat($1, $2, $3, $4, $5, $6) on true`,
    values: [
      workerId,
      held.map((task) => task.id),
      held.map((task) => task.leaseNo),
      held.map((task) => task.startedMs),
      leaseMs,
      JSON.stringify({ cursors, ...counts, lease_ms: inForceMs }),
    ],
    ...(deadlineMs !== undefined && { deadlineMs }),
  });
  const answers = rows.flatMap(({ id, ...row }) =>
    id === null
      ? []
      : {
          id,
          leaseNo: row.lease_no,
          answer: row.answer,
          cancelRequested: row.cancel_requested === true,
          cancelReason: row.cancel_reason,
        },
  );
  const stored = rows[0]!.orders;
  return { answers, orders: ordersOf(stored), judgedByMs: stored?.in_force_ms };
}
