import type { ClaimedTask } from '../domain/task.ts';
import { backingOffMs } from '../lib/backing-off.ts';
import type { Bell } from '../lib/bell.ts';
import type { Queryable } from '../lib/database.ts';
import { type Claimed, claim } from '../queue/claim.ts';
import { unmarkIdle } from '../queue/mark-idle.ts';
import type { ClaimCursor } from './cursor.ts';
import type { LeaseLength } from './lease-length.ts';
import { Pace } from './pace.ts';

export interface ClaimLoopOptions {
  readonly db: Queryable;
  readonly workerId: number;
  /** Those handled now. */
  readonly types: () => readonly string[];
  readonly lease: LeaseLength;
  readonly pollMs: () => number;
  readonly cursor: ClaimCursor;
  /** How many to claim now, into slots and ahead; both 0: none. */
  readonly room: () => { start: number; ahead: number };
  /** Rung when there may be room again. */
  readonly roomBell: Bell;
  /** Rung when there may be something to claim. */
  readonly hintBell: Bell;
  /** Whether hints arrive: then an idle worker looks less often. */
  readonly hears: () => boolean;
  /** Have what claims have passed in these queues looked at, if it is time to. */
  readonly lookBehind: (queues: readonly string[]) => Promise<void>;
  /** Look which queues have tasks, at most once a second. */
  readonly queuesNow: () => Promise<readonly string[]>;
  /** Those found last, and those that hints have named since. */
  readonly queuesKnown: () => readonly string[];
  /** Have producers wake this worker, for so long at most: which queues have tasks, and when the next is due. */
  readonly markIdle: (ms: number) => Promise<{ dueMs: number | null; queues: readonly string[] }>;
  readonly onClaimed: (tasks: readonly ClaimedTask[]) => void;
  /** The answer of a claim was lost, or it was refused. */
  readonly onTrouble: (error: unknown) => void;
  /** Nothing is due. True: the worker is to end. */
  readonly onIdle: () => Promise<boolean>;
  readonly stop: AbortSignal;
}

/** Where tasks trickle in, the next look is so much later: they come in handfuls. */
const TRICKLE_MS = 5;
/** How long an idle worker that hears hints goes without a look. */
const POLL_HEARING_MS = 5000;
/**
 * So soon after it was marked as idle it looks again, and twice as late each time. Who enqueued before the mark stood and
 * commits after the last look has sent no hint: it is found after about as long again as its transaction was open.
 */
const FIRST_NAP_MS = 50;

/** When a worker was marked as idle, and for how long the mark stands that has been renewed since. */
interface Mark {
  since: number;
  until: number;
}

/** Claim whenever there is room and something to claim, until `stop`. */
export async function claimLoop(options: ClaimLoopOptions): Promise<void> {
  const { db, workerId, roomBell, hintBell, stop, onTrouble } = options;
  const pace = new Pace();
  /** It stands while the worker is marked as idle: producers send hints. A task now and then leaves the mark alone. */
  let mark: Mark | undefined;
  let isWoken = false;
  for (let failures = 0; !stop.aborted; ) {
    try {
      const room = options.room();
      const isFull = room.start + room.ahead === 0;
      if (mark !== undefined && (isFull || pace.isDense(performance.now()))) {
        await unmarkIdle(db, workerId);
        mark = undefined;
      }
      if (isFull) {
        await roomBell.wait(options.pollMs(), stop);
        continue;
      }
      // What woke it waits: no look comes before the claim.
      const got = await claimOnce(options, room, isWoken ? options.queuesKnown() : await options.queuesNow());
      isWoken = false;
      failures = 0;
      const now = performance.now();
      pace.count(got, now);
      // Of several workers one is often too late, and no more idle than the others.
      if (got === 0 && !(options.hears() && pace.isDense(now))) {
        mark ??= { since: now, until: now };
        pace.count(await sleepIdle(options, mark), performance.now());
        isWoken = true;
      } else if (got < room.start + room.ahead) await hintBell.wait(TRICKLE_MS, stop);
    } catch (error) {
      failures += 1;
      onTrouble(error);
      await roomBell.wait(backingOffMs(failures, Math.random()), stop);
    }
  }
}

async function claimOnce(
  options: ClaimLoopOptions,
  room: { start: number; ahead: number },
  queues: readonly string[],
): Promise<number> {
  if (queues.length === 0 || options.stop.aborted) return 0;
  await options.lookBehind(queues);
  if (options.stop.aborted) return 0;
  return options.lease.during((leaseMs) => claimFor(leaseMs, options, room, queues));
}

async function claimFor(
  leaseMs: number,
  options: ClaimLoopOptions,
  room: { start: number; ahead: number },
  queues: readonly string[],
): Promise<number> {
  const { db, workerId, types, cursor } = options;
  const began = performance.now();
  const look = cursor.next(began, queues);
  // The answer is worth nothing after a lease.
  const deadlineMs = Math.min(30_000, Math.max(5000, leaseMs));
  const request = { workerId, types: types(), queues: cursor.inTurn(queues), ...room, ...look };
  let claimed: Claimed;
  try {
    claimed = await claim(db, { ...request, leaseMs, deadlineMs });
  } catch (error) {
    const now = performance.now();
    cursor.failed(look, now - began, now);
    throw error;
  }
  const { tasks } = claimed;
  const now = performance.now();
  cursor.claimed(
    { ...claimed, look, short: tasks.length < room.start + room.ahead, costMs: now - began },
    now,
  );
  if (tasks.length > 0) options.onClaimed(tasks);
  return tasks.length;
}

/**
 * Sleep until a hint, the next due task or the next poll. The mark comes before the last look: what was committed
 * before it stood has sent no hint. Returns how many tasks that look claimed, which ends the sleep.
 */
async function sleepIdle(options: ClaimLoopOptions, mark: Mark): Promise<number> {
  const { hintBell, stop } = options;
  if (performance.now() > mark.until || !options.hears()) mark.since = performance.now();
  // The longer it has stood, the fewer transactions are open that have not seen it.
  for (let napMs = Math.max(FIRST_NAP_MS, performance.now() - mark.since); ; napMs *= 2) {
    if (stop.aborted || (await options.onIdle())) return 0;
    const pollMs = options.hears() ? Math.max(options.pollMs(), POLL_HEARING_MS) : options.pollMs();
    const markMs = pollMs + 1000;
    mark.until = performance.now() + markMs;
    const { dueMs, queues } = await options.markIdle(markMs);
    const room = options.room();
    const got = room.start + room.ahead > 0 ? await claimOnce(options, room, queues) : 0;
    if (got > 0) return got;
    const sleepMs = Math.min(pollMs, napMs);
    const waited = await hintBell.wait(Math.max(1, Math.min(sleepMs, dueMs ?? sleepMs)), stop);
    if (waited !== 'elapsed' || (dueMs !== null && dueMs <= sleepMs)) return 0;
  }
}
