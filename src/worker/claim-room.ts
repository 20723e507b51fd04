export interface RoomQuestion {
  readonly concurrency: number;
  readonly freeSlots: number;
  /** Claimed ahead and not started. */
  readonly waiting: number;
  /** How long an attempt takes of late; undefined: not known yet. */
  readonly meanRunMs: number | undefined;
  readonly batch: 'auto' | number;
  /** Never hold more than so many more. */
  readonly most: number;
}

/** At most so many are claimed ahead. */
export const MOST_AHEAD = 1000;

/** Ahead is claimed what starts within so many milliseconds, for as long a claim and its answer may take. */
const HORIZON_MS = 20;

/**
 * Decide how many tasks to claim now: enough for every free slot, and ahead what these slots will start within the
 * next milliseconds: nothing for slow handlers, hundreds for fast ones. Nothing while more than half of that waits.
 */
export function claimRoom(question: RoomQuestion): { start: number; ahead: number } {
  const { concurrency, freeSlots, waiting, meanRunMs, batch, most } = question;
  const atOnce = batch === 'auto' ? most : Math.min(batch, most);
  const start = Math.max(0, Math.min(freeSlots - waiting, atOnce));
  const target =
    batch === 'auto' ? startedWithin(HORIZON_MS, concurrency, meanRunMs) : Math.max(0, batch - concurrency);
  const missing = Math.min(target - Math.max(0, waiting - freeSlots), atOnce - start);
  if (start === 0 && missing < target / 2) return { start: 0, ahead: 0 };
  return { start, ahead: Math.max(0, Math.floor(missing)) };
}

function startedWithin(ms: number, concurrency: number, meanRunMs: number | undefined): number {
  if (meanRunMs === undefined) return 0;
  return Math.min(MOST_AHEAD, Math.floor((concurrency / Math.max(meanRunMs, 0.001)) * ms));
}
