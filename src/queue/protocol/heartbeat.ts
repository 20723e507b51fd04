import type { Lease } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';
import type { UpcomingSchedule } from './fire-schedule.ts';
import { type Orders, ordersOf, type StoredOrders } from './orders.ts';

export interface HeldTask extends Lease {
  /** Milliseconds since it started; null: it is claimed ahead. */
  readonly startedMs: number | null;
}

export interface HeartbeatAnswer extends Lease {
  /** `busy`: another transaction has the row locked, or `refusal`; ask again. */
  readonly answer: 'renewed' | 'lost' | 'busy';
  /** Why the database refused to renew this lease, for example by a trigger of the application; null: it did not. */
  readonly refusal: string | null;
  readonly cancelRequested: boolean;
  readonly cancelReason: string | null;
}

export interface HeartbeatRequest {
  readonly workerId: number;
  readonly held: readonly HeldTask[];
  readonly lease: LeaseRequest;
  readonly about?: AboutWorker;
  /** The deadline of the answer, which is useless after that; absent: the connection's own. */
  readonly deadlineMs?: number;
}

export interface LeaseRequest {
  /** How long the tasks are leased from now on. */
  readonly leaseMs: number;
  /** The lease by which other workers judge this one from now on; absent: unchanged. */
  readonly inForceMs?: number;
}

/** What a worker reports about itself. */
export interface AboutWorker {
  /** The worker's claim cursor, stored for workers that start later; undefined: leave the stored one. */
  readonly cursors?: unknown;
  /**
   * The number of tasks in slots, claimed ahead, and in slots past their timeout, and of leases lost so far, for
   * display; absent: unchanged.
   */
  readonly counts?: {
    readonly running: number;
    readonly ahead: number;
    readonly timedOut?: number;
    readonly lost?: number;
  };
  /** The worker drains: it claims nothing more. */
  readonly stopping?: true;
}

export interface Heartbeat {
  /** One for each lease in the request. */
  readonly answers: readonly HeartbeatAnswer[];
  /** What operators want of the worker; undefined: its row is gone. */
  readonly orders: Orders | undefined;
  /** The schedules that fire next. */
  readonly upcoming: readonly UpcomingSchedule[];
  /** Milliseconds until the next batch of an operation is due; null: there is none. */
  readonly operationsMs: number | null;
  /** The lease by which others judged it until this heartbeat; undefined: its row is gone. */
  readonly judgedByMs: number | undefined;
}

/** Renew the leases of a worker that need it, and learn which tasks are lost or should be cancelled. */
export async function heartbeat(db: Queryable, request: HeartbeatRequest): Promise<Heartbeat> {
  const { workerId, held, lease, deadlineMs } = request;
  const { cursors, counts, stopping } = request.about ?? {};
  const rows = await db.query<{
    orders: StoredOrders | null;
    /** Null: the request had no lease. */
    id: string | null;
    lease_no: number;
    answer: HeartbeatAnswer['answer'];
    cancel_requested: boolean | null;
    cancel_reason: string | null;
    extra: { readonly error: string; readonly code: string } | null;
  }>({
    name: 'taskq_heartbeat',
    text: `select orders, id, lease_no, answer, cancel_requested, cancel_reason, extra
      from taskq.get_orders($1) as orders
      left join taskq.heartbeat($1, $2, $3, $4, $5, $6) on true`,
    values: [
      workerId,
      held.map((task) => task.id),
      held.map((task) => task.leaseNo),
      held.map((task) => task.startedMs),
      lease.leaseMs,
      JSON.stringify({
        ...{ cursors, running: counts?.running, ahead: counts?.ahead, timed_out: counts?.timedOut },
        leases_lost: counts?.lost,
        ...{ lease_ms: lease.inForceMs, stopping },
      }),
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
          refusal: row.extra === null ? null : `${row.extra.error} (SQLSTATE ${row.extra.code})`,
          cancelRequested: row.cancel_requested === true,
          cancelReason: row.cancel_reason,
        },
  );
  const stored = rows[0]!.orders;
  return {
    answers,
    orders: ordersOf(stored),
    upcoming: stored?.schedules ?? [],
    operationsMs: stored?.operations_ms ?? null,
    judgedByMs: stored?.in_force_ms,
  };
}
