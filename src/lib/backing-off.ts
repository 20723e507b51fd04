export interface BackingOff {
  /** The upper bound of the first delay, in milliseconds. */
  readonly baseMs: number;
  /** The upper bound of every delay, in milliseconds. */
  readonly maxMs: number;
}

/** Work resumes within five seconds of the database's return. */
export const RECONNECTING: BackingOff = { baseMs: 100, maxMs: 4000 };

/**
 * Returns how long to wait before the next try after the `failures`-th failure in a row (1, 2, …), in milliseconds: a
 * random part (`random` is in [0, 1)) of base × 2^(failures − 1), capped. Full jitter keeps a hundred processes that
 * were cut off together from returning together.
 */
export function backingOffMs(failures: number, random: number, bounds: BackingOff = RECONNECTING): number {
  return random * Math.min(bounds.maxMs, bounds.baseMs * 2 ** Math.max(0, failures - 1));
}
