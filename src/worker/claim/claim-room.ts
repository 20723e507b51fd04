import type { Room } from '../../queue/protocol/claim.ts';

/** How busy a worker's slots are. */
export interface Load {
  readonly concurrency: number;
  readonly freeSlots: number;
  /** The recent mean duration of an attempt; undefined: unknown. */
  readonly meanRunMs: number | undefined;
  /** How long no slot has become free; 0: one is free. */
  readonly busyMs: number;
  /** How many waiting tasks will start soon, at the rate of the last claims. */
  readonly startsSoon: number;
  /** The mean payload length of the last claim, in characters; 0: there was none. */
  readonly meanLength: number;
}

export const NO_ROOM: Room = { start: 0, ahead: 0 };

export function isNone({ start, ahead }: Room): boolean {
  return start + ahead === 0;
}

/** Claim at most this many tasks ahead: a worker alone gains nothing from more. */
export const MOST_AHEAD = 1000;

/**
 * Limit the payload text of a claim, and of all tasks claimed ahead, in characters. `taskq.claim` returns at most 16
 * MB, but briefly locks every task that is asked for, so ask only for as many as probably fit.
 */
const MOST_LENGTH = 16_000_000;

/** The most slots: an operator may raise a running worker's concurrency, but its memory is laid out at the start. */
export const MOST_SLOTS = 10_000;

/** Claim ahead what will start within this time, which is how long a claim and its answer may take. */
const HORIZON_MS = 20;

/** For a fixed batch, claim ahead what will start well before it is given back for having waited a second. */
const FIXED_HORIZON_MS = 500;

/**
 * Decide how many tasks to claim now: enough for every free slot. Claim ahead what will start within the next
 * milliseconds (nothing for slow handlers, a thousand for fast ones), but no more than was started in a recent fifth of
 * a second: a task that waits longer than a second is given back, and all workers then look back for it. Claim nothing
 * while more than three quarters of the target already waits, so that the claim is in flight while they start.
 *
 * Until an attempt has ended, a fixed batch is claimed in full. `waiting`: tasks claimed ahead and not started; `most`:
 * never claim more than this.
 */
export function claimRoom(load: Load, waiting: number, batch: 'auto' | number, most: number): Room {
  const { concurrency, freeSlots, meanRunMs, busyMs, startsSoon, meanLength } = load;
  const atOnce = batch === 'auto' ? most : Math.min(batch, most);
  const fitting = Math.max(1, Math.floor(MOST_LENGTH / Math.max(1, meanLength)));
  const start = Math.max(0, Math.min(freeSlots - waiting, atOnce, fitting));
  // Running attempts count as well as those that have ended.
  const runMs = Math.max(meanRunMs ?? 0, busyMs, 0.001);
  const mostAhead = Math.min(MOST_AHEAD, fitting);
  const startedWithin = (ms: number) => Math.min(mostAhead, Math.floor((concurrency / runMs) * ms));
  const target =
    batch !== 'auto'
      ? Math.min(Math.max(0, batch - concurrency), startedWithin(FIXED_HORIZON_MS))
      : meanRunMs === undefined
        ? 0
        : Math.min(startedWithin(HORIZON_MS), startsSoon);
  const missing = Math.min(target - Math.max(0, waiting - freeSlots), atOnce - start);
  if (start === 0 && missing < target / 4) return NO_ROOM;
  return { start, ahead: Math.max(0, Math.min(Math.floor(missing), fitting - start)) };
}
