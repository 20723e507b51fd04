/** A statement this short delays no other work noticeably. */
const CHEAP_MS = 25;
/** Each further failure in a row doubles the pause, up to this factor. */
const MOST_GROWTH = 8;

/**
 * Decides when periodic work is due again, so that it never takes more than its share of the time, whether it succeeds
 * or fails. Times are `performance.now()`, in milliseconds.
 */
export class Throttle {
  readonly #factor: number;
  readonly #firstMs: number;
  #endedAt = -Infinity;
  #costMs: number | undefined;
  /** The cost that sets the next pause. */
  #paidMs = 0;
  /** The rest of the cost, for the pause after that. */
  #unpaidMs = 0;
  /** The lesser cost of the last two runs: a moment of load does not make the work count as costly. */
  #lesserMs = 0;
  #failures = 0;

  /**
   * `factor`: pauses are this many times as long as runs. A run's extra time over the previous one lengthens only the
   * pause after next: a moment of load delays nothing. `firstMs`: caps the cost of the first run, which is slow because
   * it plans the query and reads pages.
   */
  constructor(factor: number, firstMs = Infinity) {
    this.#factor = factor;
    this.#firstMs = firstMs;
  }

  /** Whether the work is due at `now`, at least `leastMs` after the last run. */
  isDue(now: number, leastMs = 0): boolean {
    return this.dueInMs(now, leastMs) <= 0;
  }

  /** In how many milliseconds after `now` the work is due, at least `leastMs` after the last run. */
  dueInMs(now: number, leastMs = 0): number {
    return this.#endedAt + Math.max(leastMs, this.pauseMs) - now;
  }

  /** Pause after the last run, in milliseconds. */
  get pauseMs(): number {
    const growth = Math.min(MOST_GROWTH, 2 ** Math.max(0, this.#failures - 1));
    return this.#factor * this.#paidMs * growth;
  }

  /** Whether either of the last two runs was cheap and the last one succeeded; false before the first. */
  get isCheap(): boolean {
    return this.#costMs !== undefined && this.#lesserMs <= CHEAP_MS && this.#failures === 0;
  }

  /** Whether the last two runs were both expensive, or the last one failed; false before the first. */
  get isCostly(): boolean {
    return this.#costMs !== undefined && !this.isCheap;
  }

  /** Whether the last run failed. */
  get hasFailed(): boolean {
    return this.#failures > 0;
  }

  /** Does the work, and measures what it costs, also if it fails. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const began = performance.now();
    try {
      const result = await work();
      const now = performance.now();
      this.done(now - began, now);
      return result;
    } catch (error) {
      const now = performance.now();
      this.failed(now - began, now);
      throw error;
    }
  }

  done(costMs: number, now: number): void {
    this.#failures = 0;
    this.#lesserMs = Math.min(costMs, this.#costMs ?? costMs);
    const isFirst = this.#costMs === undefined;
    this.#paidMs = isFirst ? Math.min(costMs, this.#firstMs) : this.#lesserMs + this.#unpaidMs;
    this.#unpaidMs = costMs - this.#lesserMs;
    this.#costMs = costMs;
    this.#endedAt = now;
  }

  /** A run that was cut short would have cost at least as much as the one before. */
  failed(costMs: number, now: number): void {
    this.#failures += 1;
    this.#costMs = Math.max(costMs, this.#costMs ?? 0);
    this.#paidMs = this.#costMs;
    this.#unpaidMs = 0;
    this.#endedAt = now;
  }

  /** Counts work just done elsewhere as this run, at an unknown cost. */
  doneElsewhere(now: number): void {
    this.#endedAt = now;
  }

  /** Makes the work due at once, whatever its cost. */
  makeDue(): void {
    this.#endedAt = -Infinity;
  }
}
