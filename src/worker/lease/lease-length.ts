import { setTimeout as sleep } from 'node:timers/promises';

/** A statement may still be under way in the server when its answer is given up. */
export const LATE_COMMIT_MS = 2000;

/** For how long the main thread's statements lease tasks, which an operator may change, and which are under way. */
export class LeaseLength {
  #ms: number;
  #heartbeatMs: number;
  readonly #underWay = new Map<Promise<unknown>, number>();

  constructor(ms: number, heartbeatMs: number) {
    this.#ms = ms;
    this.#heartbeatMs = heartbeatMs;
  }

  get ms(): number {
    return this.#ms;
  }

  /** The time between heartbeats that goes with it. */
  get heartbeatMs(): number {
    return this.#heartbeatMs;
  }

  /** The longest of a statement that is under way, or may still be. */
  get longestMs(): number {
    return Math.max(this.#ms, ...this.#underWay.values());
  }

  /** Run a statement that leases tasks for so long; what it leased is entered in the table of leases when it resolves. */
  during<T>(work: (leaseMs: number) => Promise<T>): Promise<T> {
    const answer = work(this.#ms);
    const over: Promise<unknown> = answer
      .catch(() => sleep(LATE_COMMIT_MS, undefined, { ref: false }))
      .then(() => this.#underWay.delete(over));
    this.#underWay.set(over, this.#ms);
    return answer;
  }

  /** Lease for so long from now on. Resolves when no statement is under way that leases for as long as before. */
  async change(ms: number, heartbeatMs: number): Promise<void> {
    this.#ms = ms;
    this.#heartbeatMs = heartbeatMs;
    await Promise.all(this.#underWay.keys());
  }
}
