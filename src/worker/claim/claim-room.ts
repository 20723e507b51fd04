/** How busy the slots of a worker are. */
export interface Load {
  readonly concurrency: number;
  readonly freeSlots: number;
  /** How long an attempt takes of late; undefined: not known yet. */
  readonly meanRunMs: number | undefined;
  /** For how long no slot has become free; 0: one is. */
  readonly busyMs: number;
  /** How long the payloads of the last claim were, in characters; 0: there was none. */
  readonly meanLength: number;
}

/** How many tasks to claim, into slots and ahead. */
export interface Room {
  readonly start: number;
  readonly ahead: number;
}

export const NO_ROOM: Room = { start: 0, ahead: 0 };

export function isNone({ start, ahead }: Room): boolean {
  return start + ahead === 0;
}

/** At most this many are claimed ahead. */
export const MOST_AHEAD = 4000;

/** Limit prefetched payload text, in characters. */
const MOST_LENGTH_AHEAD = 16_000_000;

/** The most slots: an operator may give a worker more while it runs, and its memory is laid out before. */
export const MOST_SLOTS = 10_000;

/** Ahead is claimed what starts within so many milliseconds, for as long a claim and its answer may take. */
const HORIZON_MS = 20;

/** Of a fixed batch, what starts well before it is given back for having waited a second. */
const FIXED_HORIZON_MS = 500;

/**
 * Decide how many tasks to claim now: enough for every free slot, and ahead what these slots will start within the
 * next milliseconds: nothing for slow handlers, thousands for fast ones. Nothing while more than three quarters of that
 * wait: the claim is to be under way while they start.
 * Before an attempt has ended a fixed batch is taken at its word. `waiting`: claimed ahead and not started; `most`: never
 * hold more than this many more.
 */
export function claimRoom(load: Load, waiting: number, batch: 'auto' | number, most: number): Room {
  const { concurrency, freeSlots, meanRunMs, busyMs, meanLength } = load;
  const atOnce = batch === 'auto' ? most : Math.min(batch, most);
  const start = Math.max(0, Math.min(freeSlots - waiting, atOnce));
  // Attempts that are still running tell as much as those that have ended.
  const runMs = Math.max(meanRunMs ?? 0, busyMs, 0.001);
  const mostAhead = Math.min(MOST_AHEAD, Math.floor(MOST_LENGTH_AHEAD / Math.max(1, meanLength)));
  const startedWithin = (ms: number) => Math.min(mostAhead, Math.floor((concurrency / runMs) * ms));
  const target =
    batch !== 'auto'
      ? Math.min(Math.max(0, batch - concurrency), startedWithin(FIXED_HORIZON_MS))
      : meanRunMs === undefined
        ? 0
        : startedWithin(HORIZON_MS);
  const missing = Math.min(target - Math.max(0, waiting - freeSlots), atOnce - start);
  if (start === 0 && missing < target / 4) return NO_ROOM;
  return { start, ahead: Math.max(0, Math.floor(missing)) };
}
