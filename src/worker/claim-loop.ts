import type { ClaimedTask } from '../domain/task.ts';
import { backingOffMs } from '../lib/backing-off.ts';
import type { Bell } from '../lib/bell.ts';
import type { Queryable } from '../lib/database.ts';
import { claim } from '../queue/claim.ts';
import { markIdle, unmarkIdle } from '../queue/mark-idle.ts';
import type { ClaimCursor } from './cursor.ts';

export interface ClaimLoopOptions {
  readonly db: Queryable;
  readonly workerId: number;
  readonly types: readonly string[];
  /** Null: every queue that has a task. */
  readonly queues: readonly string[] | null;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly cursor: ClaimCursor;
  /** How many to claim now, into slots and ahead; both 0: none. */
  readonly room: () => { start: number; ahead: number };
  /** Rung when there may be room again. */
  readonly roomBell: Bell;
  /** Rung when there may be something to claim. */
  readonly hintBell: Bell;
  /** Whether hints arrive: then an idle worker looks less often. */
  readonly hears: () => boolean;
  /** Look which queues have tasks, at most once a second. */
  readonly queuesNow: () => Promise<readonly string[]>;
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

/** Claim whenever there is room and something to claim, until `stop`. */
export async function claimLoop(options: ClaimLoopOptions): Promise<void> {
  const { roomBell, hintBell, stop, onTrouble } = options;
  for (let failures = 0; !stop.aborted; ) {
    try {
      const room = options.room();
      if (room.start + room.ahead === 0) {
        await roomBell.wait(options.pollMs, stop);
        continue;
      }
      const got = await claimOnce(options, room, await options.queuesNow());
      failures = 0;
      if (got === 0) await sleepIdle(options);
      else if (got < room.start + room.ahead) await hintBell.wait(TRICKLE_MS, stop);
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
  const { db, workerId, types, leaseMs, cursor } = options;
  if (queues.length === 0) return 0;
  const began = performance.now();
  const look = cursor.next(began);
  const tasks = await claim(db, {
    workerId,
    types,
    leaseMs,
    queues: cursor.inTurn(queues),
    ...room,
    cursor: look.cursor,
    lookBackMs: look.lookBackMs,
  });
  const now = performance.now();
  cursor.claimed({ look, tasks, short: tasks.length < room.start + room.ahead, costMs: now - began }, now);
  if (tasks.length > 0) options.onClaimed(tasks);
  return tasks.length;
}

/**
 * Sleep until a hint, the next due task or the next poll. The mark comes before the last look: what was committed
 * before it stood has told nobody.
 */
async function sleepIdle(options: ClaimLoopOptions): Promise<void> {
  const { db, workerId, hintBell, stop } = options;
  let marked = false;
  for (;;) {
    if (stop.aborted || (await options.onIdle())) break;
    const pollMs = options.hears() ? Math.max(options.pollMs, POLL_HEARING_MS) : options.pollMs;
    const { dueMs, queues } = await markIdle(db, workerId, options.queues, pollMs + 1000);
    marked = true;
    const room = options.room();
    if (room.start + room.ahead > 0 && (await claimOnce(options, room, queues)) > 0) break;
    const waited = await hintBell.wait(Math.max(1, Math.min(pollMs, dueMs ?? pollMs)), stop);
    if (waited !== 'elapsed' || dueMs !== null) break;
  }
  if (marked) await unmarkIdle(db, workerId);
}
