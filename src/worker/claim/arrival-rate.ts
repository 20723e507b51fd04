/** A task counts for about this long. */
const MEMORY_MS = 100;
/** This many recent tasks, a hundred a second, are dense. */
const DENSE = 10;
/** Count no more than this: then the end of a flow is noticed within a sixth of a second. */
const MOST = 50;

/**
 * Measures how densely tasks arrive. When they arrive now and then, the producer should wake a worker; when they arrive
 * densely, a hint for each costs the producer most of the commit, and the worker finds them without hints.
 */
export class ArrivalRate {
  #recent = 0;
  #at = 0;

  /** Count tasks claimed at `now` (`performance.now()`). */
  count(tasks: number, now: number): void {
    this.#recent = Math.min(MOST, this.#recentAt(now) + tasks);
    this.#at = now;
  }

  isDense(now: number): boolean {
    return this.#recentAt(now) >= DENSE;
  }

  #recentAt(now: number): number {
    return this.#recent * Math.exp((this.#at - now) / MEMORY_MS);
  }
}
