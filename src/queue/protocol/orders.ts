import type { UpcomingSchedule } from './fire-schedule.ts';

/** A paused queue, with who paused it, why, and until when (ISO 8601; null: until resumed). */
export interface PausedQueue {
  readonly queue: string;
  readonly by: string | null;
  readonly reason: string | null;
  readonly until: string | null;
}

/** The breaker of a type that is open, with its setting as the database stores it. */
export interface OpenBreaker {
  readonly type: string;
  /** Absent: the setting was removed just now. */
  readonly failures?: number;
  readonly within_ms?: number;
  /** Absent: 30 s. */
  readonly probe_after_ms?: number | 'none';
}

/** What operators want of a worker. */
export interface Orders {
  readonly paused: boolean;
  readonly pausedBy: string | null;
  readonly stop: boolean;
  readonly stopBy: string | null;
  readonly concurrency: number;
  readonly pollMs: number;
  /** The requested lease for the tasks it claims. */
  readonly leaseMs: number;
  readonly batch: 'auto' | number;
  /** Null: every queue. */
  readonly queues: readonly string[] | null;
  readonly pausedQueues: readonly PausedQueue[];
  /** Of the types that the worker handles. */
  readonly openBreakers: readonly OpenBreaker[];
  /** Ids of tasks whose logs someone follows. */
  readonly followed: readonly string[];
}

/** Orders in the form that the database returns. */
export interface StoredOrders {
  /** Those that fire next; null: none. Not an order: see `Heartbeat`. */
  readonly schedules: readonly UpcomingSchedule[] | null;
  /** Not an order either. */
  readonly operations_ms: number | null;
  readonly paused: boolean;
  readonly paused_by: string | null;
  readonly stop: boolean;
  readonly stop_by: string | null;
  readonly concurrency: number;
  readonly poll_ms: number;
  readonly lease_ms: number;
  /** The lease by which others judged the worker until this heartbeat. */
  readonly in_force_ms: number;
  /** Null: auto. */
  readonly batch: number | null;
  readonly queues: readonly string[] | null;
  readonly paused_queues: readonly PausedQueue[];
  readonly open_breakers: readonly OpenBreaker[];
  readonly followed: readonly string[];
}

/** Read what operators want of a worker. Undefined: its row is gone. */
export function ordersOf(stored: StoredOrders | null): Orders | undefined {
  if (stored === null) return undefined;
  const { paused, stop, concurrency, queues } = stored;
  return {
    ...{ paused, stop, concurrency, queues },
    pausedBy: stored.paused_by,
    stopBy: stored.stop_by,
    pollMs: stored.poll_ms,
    leaseMs: stored.lease_ms,
    batch: stored.batch ?? 'auto',
    pausedQueues: stored.paused_queues,
    openBreakers: stored.open_breakers,
    followed: stored.followed,
  };
}

/** Whether a worker with these orders may start tasks of a queue and a type. */
export function mayRun(
  { paused, queues, pausedQueues, openBreakers }: Orders,
  { queue, type }: { readonly queue: string; readonly type: string },
): boolean {
  return (
    !paused &&
    (queues?.includes(queue) ?? true) &&
    !pausedQueues.some((other) => other.queue === queue) &&
    !openBreakers.some((open) => open.type === type)
  );
}
