/** Status of a task that has not ended. */
export type LiveStatus = 'blocked' | 'pending' | 'leased' | 'running';

/** Status of a task in the history. */
export type FinishedStatus = 'completed' | 'cancelled' | 'expired';

/** Status of any task: live, in the history, or a dead letter. */
export type TaskStatus = LiveStatus | FinishedStatus | 'dead';

export const TASK_STATUSES = [
  'blocked',
  'pending',
  'leased',
  'running',
  'completed',
  'cancelled',
  'expired',
  'dead',
] as const satisfies readonly TaskStatus[];

/** The right to update a claimed task: its id (a bigint, so text here) and the number that its claim has drawn. */
export interface Lease {
  readonly id: string;
  readonly leaseNo: number;
}

/**
 * Returns a key unique to a lease: a worker may claim a task again while the attempt whose lease it lost still runs.
 */
export function leaseKey({ id, leaseNo }: Lease): string {
  return `${id}/${leaseNo}`;
}

export function isSameLease(a: Lease, b: Lease): boolean {
  return a.id === b.id && a.leaseNo === b.leaseNo;
}

/** The place of a task in a workflow. */
export interface WorkflowPlace {
  readonly id: string;
  /** The name of the task's step; null: the task is not a step, but was enqueued because a step ended. */
  readonly step: string | null;
}

/** A task as a claim returns it to a worker. */
export interface ClaimedTask extends Lease {
  readonly type: string;
  readonly queue: string;
  /** JSON text, as the database writes it. */
  readonly payload: string;
  /** 0 is the most urgent, 9 the least. */
  readonly priority: number;
  /** Failed attempts so far. */
  readonly attempts: number;
  /** Leases lost since a handler last reported an outcome; above 0 the task is suspect and runs in a child process. */
  readonly losses: number;
  /** It is suspect, and one more loss makes it a dead letter. */
  readonly hasLastChance: boolean;
  /** Microseconds since the epoch: a Date has only milliseconds. */
  readonly availableAtUs: number;
  /** The task's own; null if its type's, queue's or the database's applies. */
  readonly timeoutMs: number | null;
  readonly groupKey: string | null;
  /** The producer's W3C trace context. */
  readonly traceparent: string | null;
  /** The tick of the schedule that enqueued it, ISO 8601; null: no schedule did at a tick. */
  readonly tick: string | null;
  /** Its place in a workflow; null: it is in none. */
  readonly workflow: WorkflowPlace | null;
  /** It started at once: the database already has it as `running`. */
  readonly running: boolean;
  /** It tries an open breaker, and starts before all others: no other task of its type starts until it has ended. */
  readonly isProbe?: boolean;
}

/** The order in which a worker starts the tasks it holds: a probe first, then by priority, time and id. */
export function byUrgency(a: ClaimedTask, b: ClaimedTask): number {
  return (
    Number(b.isProbe === true) - Number(a.isProbe === true) ||
    a.priority - b.priority ||
    a.availableAtUs - b.availableAtUs ||
    Number(a.id) - Number(b.id)
  );
}
