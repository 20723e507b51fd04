/** The most calls of a batch. */
const MOST_CALLS = 100;

/** How long the calls of a batch should take together, in milliseconds. */
const MOST_MS = 10;

/** Fills batches of calls one after the other: decides which calls join the current batch. */
export class BatchFilling {
  #calls = 0;
  #ms = 0;

  /** Whether a batch has begun and has room. */
  get isOpen(): boolean {
    return this.#calls > 0 && this.#calls < MOST_CALLS && this.#ms < MOST_MS;
  }

  /** Add a call that takes about `expectedMs`. Returns whether it joins the batch; if not, it begins another. */
  add(expectedMs: number): boolean {
    const goesAlong = this.isOpen;
    if (!goesAlong) this.end();
    this.#calls += 1;
    this.#ms += expectedMs;
    return goesAlong;
  }

  /** The next call begins another batch. */
  end(): void {
    this.#calls = 0;
    this.#ms = 0;
  }
}
