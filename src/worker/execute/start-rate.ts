/** Well before a task is given back for having waited a second. */
const SOON_MS = 200;

/** Fewer starts give no reliable rate. */
const LEAST = 64;

/**
 * Measures how many waiting tasks a worker starts within a fifth of a second. The run time of handlers does not show
 * it: where processes outnumber cores, each runs only now and then.
 */
export class StartRate {
  #soon = LEAST;
  #starts = 0;
  #refilledAt = 0;
  #lastStartAt = 0;

  /** How many waiting tasks will start soon. Rises to at most twice as many with each claim. */
  get soon(): number {
    return this.#soon;
  }

  /** A task started at `now` (`performance.now()`). */
  started(now: number): void {
    this.#starts += 1;
    this.#lastStartAt = now;
  }

  /** A claim was answered at `now`; `waiting` tasks of earlier claims had not started yet. */
  refilled(waiting: number, now: number): void {
    if (this.#starts > 0) {
      // If none was left, the time since the last start is the time that the claim took.
      const tookMs = (waiting > 0 ? now : this.#lastStartAt) - this.#refilledAt;
      const soon = Math.floor((SOON_MS * this.#starts) / Math.max(0.001, tookMs));
      this.#soon = Math.max(LEAST, Math.min(soon, 2 * this.#soon));
    }
    this.#starts = 0;
    this.#refilledAt = now;
  }
}
