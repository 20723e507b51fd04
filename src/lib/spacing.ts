/** Up to so long a statement holds up nothing that anybody would notice. */
const CHEAP_MS = 25;
/** A failure is paid for with its own time, and twice as much after each further one, up to so many times. */
const MOST_GROWTH = 8;

/**
 * When periodic work may be done again: never so often that it takes more than its share of the time, be it done or
 * failed. Times are `performance.now()`, in milliseconds.
 */
export class Spacing {
  readonly #factor: number;
  readonly #firstMs: number;
  #endedAt = -Infinity;
  #costMs: number | undefined;
  /** What the last time is paid for. */
  #paidMs = 0;
  /** Of the last two times; a machine that is busy for a moment makes nothing costly. */
  #lesserMs = 0;
  #failures = 0;

  /**
   * `factor`: a pause is at least so many times as long as what came before it took. `firstMs`: the first time counts
   * for no more than this, where it is slow for being the first: a plan is made, pages are read.
   */
  constructor(factor: number, firstMs = Infinity) {
    this.#factor = factor;
    this.#firstMs = firstMs;
  }

  /** Whether it may be done now, at least `leastMs` after the last time. */
  isDue(now: number, leastMs = 0): boolean {
    return now - this.#endedAt >= Math.max(leastMs, this.pauseMs);
  }

  /** How long to pause after the last time, in milliseconds. */
  get pauseMs(): number {
    const growth = Math.min(MOST_GROWTH, 2 ** Math.max(0, this.#failures - 1));
    return this.#factor * this.#paidMs * growth;
  }

  /** Whether it was done, and took no time worth mentioning: the last time, or the one before. */
  get isCheap(): boolean {
    return this.#costMs !== undefined && this.#lesserMs <= CHEAP_MS && this.#failures === 0;
  }

  /** Whether it took its time twice, or failed; not known before the first time. */
  get isCostly(): boolean {
    return this.#costMs !== undefined && !this.isCheap;
  }

  /** Whether it failed the last time. */
  get hasFailed(): boolean {
    return this.#failures > 0;
  }

  done(costMs: number, now: number): void {
    this.#failures = 0;
    this.#lesserMs = Math.min(costMs, this.#costMs ?? costMs);
    this.#paidMs = this.#costMs === undefined ? Math.min(costMs, this.#firstMs) : costMs;
    this.#costMs = costMs;
    this.#endedAt = now;
  }

  /** What was cut short would have cost no less than it did before. */
  failed(costMs: number, now: number): void {
    this.#failures += 1;
    this.#costMs = Math.max(costMs, this.#costMs ?? 0);
    this.#paidMs = this.#costMs;
    this.#endedAt = now;
  }

  /** Let what another has just done count for this, at an unknown cost. */
  doneElsewhere(now: number): void {
    this.#endedAt = now;
  }

  /** Let it be due at once, whatever it cost. */
  makeDue(): void {
    this.#endedAt = -Infinity;
  }
}
