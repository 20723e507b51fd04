/** A run that takes longer than this, in milliseconds, gains little in a batch and keeps others waiting. */
const BRIEF_MS = 10;

/** A function takes part in batches after this many brief runs in a row. */
const RUNS_TO_JOIN = 3;

/** After a failure it takes this many, since a batch in which one fails is done twice. */
const RUNS_TO_REJOIN = 100;

/** Knows which SQL functions are brief and succeed, by name, from how they ran last. */
export class BriefFunctions {
  /** How many brief runs each still needs. Only functions that have succeeded are in it, so payloads cannot fill it. */
  readonly #needed = new Map<string, number>();

  has(name: string): boolean {
    return this.#needed.get(name) === 0;
  }

  /** It has run in a transaction of its own, in this time. */
  ran(name: string, tookMs: number): void {
    const needed = this.#needed.get(name) ?? RUNS_TO_JOIN;
    this.#needed.set(name, tookMs > BRIEF_MS ? Math.max(needed, RUNS_TO_JOIN) : Math.max(0, needed - 1));
  }

  /** It has used up the time of its batch. */
  wasSlow(name: string): void {
    this.ran(name, Infinity);
  }

  /** It, or a batch that it was in, has failed. */
  failed(name: string): void {
    if (this.#needed.has(name)) this.#needed.set(name, RUNS_TO_REJOIN);
  }
}
