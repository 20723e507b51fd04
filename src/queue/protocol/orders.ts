/** A paused queue, with who paused it, why, and until when (ISO 8601; null: until resumed). */
export interface PausedQueue {
  readonly queue: string;
  readonly by: string | null;
  readonly reason: string | null;
  readonly until: string | null;
}

/** What operators want of a worker. */
export interface Orders {
  readonly paused: boolean;
  readonly pausedBy: string | null;
  readonly stop: boolean;
  readonly stopBy: string | null;
  readonly concurrency: number;
  readonly pollMs: number;
  /** How long it should lease the tasks it claims. */
  readonly leaseMs: number;
  readonly batch: 'auto' | number;
  /** Null: every queue. */
  readonly queues: readonly string[] | null;
  readonly pausedQueues: readonly PausedQueue[];
}

/** Orders in the form that the database returns. */
export interface StoredOrders {
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
  };
}

/** Whether a worker with these orders may run tasks of a queue. */
export function runsQueue({ paused, queues, pausedQueues }: Orders, queue: string): boolean {
  return !paused && (queues?.includes(queue) ?? true) && !pausedQueues.some((other) => other.queue === queue);
}
