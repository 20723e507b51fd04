import { backingOffMs } from '../../lib/backing-off.ts';
import type { Wakeup } from '../../lib/wakeup.ts';
import type { Room } from '../../queue/protocol/claim.ts';
import { ArrivalRate } from './arrival-rate.ts';
import type { ClaimContext } from './claim-context.ts';
import { isNone } from './claim-room.ts';
import type { Claimer } from './claimer.ts';
import type { PromisedClaim } from './promised-claim.ts';

/** The worker of a claim loop. */
export interface ClaimLoopHost {
  /** How many tasks to claim now. */
  room(): Room;
  /** How often to look for tasks when nothing is due. */
  readonly pollMs: number;
  /** Whether hints arrive; an idle worker then polls less often. */
  readonly receivesHints: boolean;
  /** Called when nothing is due. True: the worker ends. */
  isDone(): Promise<boolean>;
  /** How many statements with outcomes have been answered. */
  readonly answers: number;
  /** How many outcomes in flight may free a slot of a group. */
  readonly groupedOutcomes: number;
  /** Returns whether there are more answers than these. Waits up to `ms` for an answer in flight. */
  hasAnswersBeyond(answers: number, ms: number): Promise<boolean>;
  /** A statement failed and will be retried. */
  onStatementFailed(error: unknown): void;
}

/** What wakes a claim loop. */
export interface ClaimWakeups {
  /** Triggered when there may be room for more tasks. */
  readonly slotFreed: Wakeup;
  /** Triggered when there may be tasks to claim. */
  readonly workArrived: Wakeup;
}

export interface ClaimLoopOptions {
  readonly host: ClaimLoopHost;
  readonly claimer: Claimer;
  readonly context: ClaimContext;
  readonly promised: PromisedClaim;
  readonly wakeups: ClaimWakeups;
  readonly stop: AbortSignal;
}

/** Delay the next claim this long while tasks trickle in: they come in handfuls. */
const TRICKLE_MS = 5;
/** When a queue or group is full, wait this long for outcomes in flight, which may free places. */
const OUTCOME_MS = 20;
/** The poll interval of an idle worker that receives hints. */
const POLL_WITH_HINTS_MS = 5000;
/**
 * An idle worker looks again this soon after it was marked, then at doubling intervals. A producer that enqueued before
 * the mark was visible, and committed after the last look, sent no hint: its task is found after about twice the time
 * that its transaction was open.
 */
const FIRST_NAP_MS = 50;

/** When a worker was marked as idle, and until when the mark, which may have been renewed since, is valid. */
interface Mark {
  since: number;
  until: number;
}

/** Claim whenever there is room and a task to claim, until `stop`. */
export async function claimLoop(options: ClaimLoopOptions): Promise<void> {
  const { host, claimer, context, promised, wakeups, stop } = options;
  const { slotFreed, workArrived } = wakeups;
  const arrivals = new ArrivalRate();
  /**
   * Set while the worker is marked as idle, so that producers send hints. An occasional task leaves the mark in place.
   */
  let mark: Mark | undefined;
  let isWoken = false;
  /** The last claim found fewer tasks than there was room for. */
  let wasShort = false;
  /** How many there were when the last claim began. */
  let answers = -1;
  /** How many outcomes of groups did not arrive in time: something may delay them for long. */
  let heldUp = 0;
  /** Wait for outcomes that may make room in a queue or group. Returns whether there were any. */
  const outcomeComes = async (): Promise<boolean> => {
    const isAnswered = await host.hasAnswersBeyond(answers, OUTCOME_MS);
    if (!isAnswered) heldUp = host.groupedOutcomes;
    return isAnswered;
  };
  for (let failures = 0; !stop.aborted; ) {
    try {
      const room = claimer.roomOf(host.room());
      promised.ready(!isNone(room));
      if (mark !== undefined && (isNone(room) || arrivals.isDense(performance.now()))) {
        await context.unmarkIdle();
        mark = undefined;
      }
      if (isNone(room)) {
        if (promised.isOwed) await claimer.attend(context.queuesKnown());
        else await slotFreed.wait(host.pollMs, stop);
        continue;
      }
      // The task that woke the worker is waiting: claim before any survey.
      const queues = isWoken ? context.queuesKnown() : await context.queuesNow();
      heldUp = Math.min(heldUp, host.groupedOutcomes);
      if (claimer.waitsForPlaces || (wasShort && host.groupedOutcomes > heldUp)) await outcomeComes();
      answers = host.answers;
      const mayFreeSlot = host.groupedOutcomes > heldUp;
      const got = await claimer.claim(room, queues, stop);
      isWoken = false;
      wasShort = got < room.start + room.ahead;
      failures = 0;
      const now = performance.now();
      arrivals.count(got, now);
      if (got === 0 && claimer.wantsSlot) continue;
      if (got === 0 && (claimer.isFull || mayFreeSlot) && (await outcomeComes())) continue;
      // With several workers, one that claims too late is often no more idle than the others.
      if (got === 0 && !(host.receivesHints && arrivals.isDense(now))) {
        mark ??= { since: now, until: now };
        arrivals.count(await sleepIdle(options, mark), performance.now());
        isWoken = true;
      } else if (wasShort) await workArrived.wait(TRICKLE_MS, stop);
    } catch (error) {
      failures += 1;
      promised.ready(false);
      host.onStatementFailed(error);
      await slotFreed.wait(backingOffMs(failures, Math.random()), stop);
    }
  }
  await promised.end(() =>
    claimer.attend(context.queuesKnown()).catch((error) => host.onStatementFailed(error)),
  );
}

/**
 * Sleep until a hint, the next due task, the time when a limited queue is open again, or the next poll. The mark is set
 * before the last look, because tasks committed before it was visible sent no hint. Returns how many tasks the last look
 * claimed; if there are any, the sleep ends.
 */
async function sleepIdle(options: ClaimLoopOptions, mark: Mark): Promise<number> {
  const { host, claimer, context, wakeups, stop } = options;
  if (performance.now() > mark.until || !host.receivesHints) mark.since = performance.now();
  for (;;) {
    // The longer the mark has been set, the fewer open transactions have not seen it.
    const napMs = Math.max(FIRST_NAP_MS, performance.now() - mark.since);
    if (stop.aborted || (await host.isDone())) return 0;
    const pollMs = host.receivesHints ? Math.max(host.pollMs, POLL_WITH_HINTS_MS) : host.pollMs;
    const markMs = pollMs + 1000;
    mark.until = performance.now() + markMs;
    const { dueMs, mostMs, queues } = await context.markIdle(markMs);
    const got = await claimer.claim(claimer.roomOf(host.room()), queues, stop);
    if (got > 0 || claimer.wantsSlot) return got;
    // A claim without a sweep did not look for tasks that were locked, or committed late: the next one comes for that.
    const sleepMs = Math.min(pollMs, napMs, mostMs, claimer.sweepInMs ?? Infinity);
    const nextMs = Math.min(dueMs ?? Infinity, claimer.opensInMs ?? Infinity);
    const waited = await wakeups.workArrived.wait(Math.max(1, Math.min(sleepMs, nextMs)), stop);
    if (waited !== 'elapsed' || nextMs <= sleepMs) return 0;
  }
}
