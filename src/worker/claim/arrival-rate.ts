/** Tasks count for about this long. */
const MEMORY_MS = 100;
/** This many of late, a hundred a second, are dense. */
const DENSE = 10;
/** More are not counted, so that an end of the flow is noticed within a sixth of a second. */
const MOST = 50;

/**
 * How densely tasks come. Where they come now and then, whoever enqueues one is to wake a worker; where they come
 * densely, a hint for each costs its producer most of the commit, and the worker finds them without.
 */
export class ArrivalRate {
  #recent = 0;
  #at = 0;

  /** This many were claimed now (`performance.now()`). */
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
