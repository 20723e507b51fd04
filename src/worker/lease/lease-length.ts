import { setTimeout as sleep } from 'node:timers/promises';

/** How long a statement may still run in the server after we stopped waiting for its answer. */
export const LATE_COMMIT_MS = 2000;

/**
 * Returns how long a worker waits for the answer to a statement, in milliseconds: the length of its lease, after which
 * the answer is useless. At least 5 s, so that a loaded server does not count as lost; at most 30 s, so that a lost one
 * is noticed.
 */
export function statementDeadlineMs(leaseMs: number): number {
  return Math.min(30_000, Math.max(5000, leaseMs));
}

/**
 * How long the main thread's statements lease tasks, which an operator may change, and which statements are in flight.
 */
export class LeaseLength {
  #ms: number;
  #heartbeatMs: number;
  readonly #inFlight = new Map<Promise<unknown>, number>();

  constructor(ms: number, heartbeatMs: number) {
    this.#ms = ms;
    this.#heartbeatMs = heartbeatMs;
  }

  get ms(): number {
    return this.#ms;
  }

  /** The heartbeat interval that goes with it. */
  get heartbeatMs(): number {
    return this.#heartbeatMs;
  }

  /** The longest lease of any statement that is, or may still be, in flight. */
  get longestMs(): number {
    return Math.max(this.#ms, ...this.#inFlight.values());
  }

  /** Run a statement that leases tasks for `leaseMs`; `work` enters them in the lease table before it resolves. */
  during<T>(work: (leaseMs: number) => Promise<T>): Promise<T> {
    const answer = work(this.#ms);
    const answered: Promise<unknown> = answer
      .catch(() => sleep(LATE_COMMIT_MS, undefined, { ref: false }))
      .then(() => this.#inFlight.delete(answered));
    this.#inFlight.set(answered, this.#ms);
    return answer;
  }

  /** Lease for `ms` from now on. Resolves when no statement in flight leases for the previous length. */
  async change(ms: number, heartbeatMs: number): Promise<void> {
    this.#ms = ms;
    this.#heartbeatMs = heartbeatMs;
    await Promise.all(this.#inFlight.keys());
  }
}
