/** A task that is not over. */
export type LiveStatus = 'blocked' | 'pending' | 'leased' | 'running';

/** A task in the history. */
export type FinishedStatus = 'completed' | 'cancelled' | 'expired';

/** Where a task is: live, in the history, or a dead letter. */
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

/** The right to write about a held task: its id (a bigint, so text here) and the fence of the claim. */
export interface Lease {
  readonly id: string;
  readonly leaseNo: number;
}

/** What tells two leases apart: a worker may take a task again while the attempt whose lease it lost still runs. */
export function leaseKey({ id, leaseNo }: Lease): string {
  return `${id}/${leaseNo}`;
}

export function isSameLease(a: Lease, b: Lease): boolean {
  return a.id === b.id && a.leaseNo === b.leaseNo;
}

/** A task as its claim gives it to a worker. */
export interface ClaimedTask extends Lease {
  readonly type: string;
  readonly queue: string;
  /** JSON text, as the database writes it. */
  readonly payload: string;
  /** 0 is the most urgent, 9 the least. */
  readonly priority: number;
  /** Failed attempts so far. */
  readonly attempts: number;
  /** Leases lost since a handler last reported an outcome; above 0 the task is a suspect and runs in a child. */
  readonly losses: number;
  /** Epoch microseconds, for a Date has only milliseconds. */
  readonly availableAtUs: number;
  /** The task's own; null when its type's, queue's or the database's applies. */
  readonly timeoutMs: number | null;
  readonly groupKey: string | null;
  /** The W3C trace context that its producer gave it. */
  readonly traceparent: string | null;
  /** It went straight into a slot: the database says `running` already. */
  readonly running: boolean;
}
