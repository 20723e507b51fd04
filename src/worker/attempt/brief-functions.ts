/** A run that takes longer than this, in milliseconds, gains little in a batch and keeps others waiting. */
const BRIEF_MS = 10;

/** A function takes part in batches after this many brief runs in a row. */
const RUNS_TO_JOIN = 3;

/** A function that succeeded before needs this many after a failure: a batch in which one call fails is done twice. */
const RUNS_TO_REJOIN = 100;

/** How a function ran last. */
interface Runs {
  /** How many brief runs it still needs. */
  needed: number;
  /** How long a run takes, in milliseconds: the recent mean. */
  ms: number;
}

/** Knows which SQL functions are brief and succeed, by name, from how they ran last. */
export class BriefFunctions {
  /** Only functions that have succeeded, so payloads cannot fill it. */
  readonly #runs = new Map<string, Runs>();

  /** How long a run of a brief function takes, in milliseconds; undefined: the function is not brief. */
  expectedMs(name: string): number | undefined {
    const runs = this.#runs.get(name);
    return runs?.needed === 0 ? runs.ms : undefined;
  }

  /** Record a run that took this long, in milliseconds: alone, or on average in a batch. */
  ran(name: string, tookMs: number): void {
    const runs = this.#runs.get(name);
    if (runs === undefined) {
      this.#runs.set(name, { needed: neededAfter(tookMs, RUNS_TO_JOIN), ms: tookMs });
      return;
    }
    runs.needed = neededAfter(tookMs, runs.needed);
    runs.ms += (tookMs - runs.ms) / 4;
  }

  /** Record a failure of the function, or of a batch that it was in. */
  failed(name: string): void {
    const runs = this.#runs.get(name);
    if (runs !== undefined) runs.needed = RUNS_TO_REJOIN;
  }
}

function neededAfter(tookMs: number, needed: number): number {
  return tookMs > BRIEF_MS ? Math.max(needed, RUNS_TO_JOIN) : Math.max(0, needed - 1);
}
