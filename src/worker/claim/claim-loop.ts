import { backingOffMs } from '../../lib/backing-off.ts';
import type { Wakeup } from '../../lib/wakeup.ts';
import { ArrivalRate } from './arrival-rate.ts';
import type { ClaimContext } from './claim-context.ts';
import { isNone } from './claim-room.ts';
import type { Claimer } from './claimer.ts';
import { type IdleHost, IdleSleep } from './idle-sleep.ts';
import type { PromisedClaim } from './promised-claim.ts';

/** The worker of a claim loop. */
export interface ClaimLoopHost extends IdleHost {
  /** How often outcomes have made it worth claiming again: they were sent where a claim can follow, or answered. */
  readonly effects: number;
  /** How many outcomes in flight may free a slot of a group. */
  readonly groupedOutcomes: number;
  /** Returns whether there are more effects than these. Waits up to `ms` for outcomes on their way. */
  hasEffectsBeyond(effects: number, ms: number): Promise<boolean>;
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

/** Claim whenever there is room and a task to claim, until `stop`. */
export async function claimLoop(options: ClaimLoopOptions): Promise<void> {
  const { host, claimer, context, promised } = options;
  await new ClaimLoop(options).run();
  await promised.end(() =>
    claimer.attend(context.queuesKnown()).catch((error) => host.onStatementFailed(error)),
  );
}

class ClaimLoop {
  readonly #options: ClaimLoopOptions;
  readonly #idle: IdleSleep;
  readonly #arrivals = new ArrivalRate();
  /** Statements that failed since the last claim that did not. */
  #failures = 0;
  /** It has just slept. */
  #isWoken = false;
  /** The last claim found fewer tasks than there was room for. */
  #wasShort = false;
  /** How many effects there were when the last claim began. */
  #effects = -1;
  /** How many outcomes of groups did not arrive in time: something may delay them for long. */
  #heldUp = 0;

  constructor(options: ClaimLoopOptions) {
    const { host, claimer, context, wakeups, stop } = options;
    this.#options = options;
    this.#idle = new IdleSleep({ host, claimer, context, workArrived: wakeups.workArrived, stop });
  }

  async run(): Promise<void> {
    const { host, promised, wakeups, stop } = this.#options;
    while (!stop.aborted) {
      try {
        await this.#claimOnce();
      } catch (error) {
        this.#failures += 1;
        promised.ready(false);
        host.onStatementFailed(error);
        await wakeups.slotFreed.wait(backingOffMs(this.#failures, Math.random()), stop);
      }
    }
  }

  /** Claim once if there is room, then wait until there may be a reason to claim again. */
  async #claimOnce(): Promise<void> {
    const { host, claimer, context, promised, stop } = this.#options;
    host.endIfDone();
    const room = claimer.roomOf(host.room());
    promised.ready(!isNone(room));
    if (this.#idle.isMarked && (isNone(room) || this.#arrivals.isDense(performance.now())))
      await this.#idle.unmark();
    if (isNone(room)) return this.#waitForRoom();
    // The task that woke the worker is waiting: claim before looking for queues.
    const queues = this.#isWoken ? context.queuesKnown() : await context.queuesNow();
    this.#heldUp = Math.min(this.#heldUp, host.groupedOutcomes);
    const awaitsOutcome = claimer.found.waitsForPlaces || (this.#wasShort && this.#mayFreeSlot);
    // Without a group, it has been answered.
    const isFollowing = awaitsOutcome && (await this.#outcomeComes()) && host.groupedOutcomes > 0;
    this.#effects = host.effects;
    const mayFreeSlot = this.#mayFreeSlot;
    const got = await claimer.claim(room, queues, { stop, isFollowing });
    const now = performance.now();
    this.#isWoken = false;
    this.#wasShort = got < room.start + room.ahead;
    this.#failures = 0;
    this.#arrivals.count(got, now);
    if (got === 0) await this.#foundNothing(now, mayFreeSlot);
    else if (this.#wasShort) await this.#trickle();
  }

  async #waitForRoom(): Promise<void> {
    const { host, claimer, context, promised, wakeups, stop } = this.#options;
    if (promised.isOwed) await claimer.attend(context.queuesKnown());
    else await wakeups.slotFreed.wait(host.pollMs, stop);
  }

  /** Wait for outcomes, for more tasks, or asleep. `mayFreeSlot`: whether outcomes might when the claim began. */
  async #foundNothing(now: number, mayFreeSlot: boolean): Promise<void> {
    const { host, claimer } = this.#options;
    const { wantsSlot, isFull } = claimer.found;
    if (wantsSlot) return;
    if ((isFull || mayFreeSlot) && (await this.#outcomeComes())) return;
    // With several workers, one that claims too late is often no more idle than the others.
    if (host.receivesHints && this.#arrivals.isDense(now)) await this.#trickle();
    else {
      this.#arrivals.count(await this.#idle.sleep(now), performance.now());
      this.#isWoken = true;
    }
  }

  async #trickle(): Promise<void> {
    const { wakeups, stop } = this.#options;
    await wakeups.workArrived.wait(TRICKLE_MS, stop);
  }

  /** Whether outcomes in flight, other than those held up, may free a slot of a group. */
  get #mayFreeSlot(): boolean {
    return this.#options.host.groupedOutcomes > this.#heldUp;
  }

  /** Wait for outcomes that may make room in a queue or group. Returns whether there were any. */
  async #outcomeComes(): Promise<boolean> {
    const { host } = this.#options;
    const hasCome = await host.hasEffectsBeyond(this.#effects, OUTCOME_MS);
    if (!hasCome) this.#heldUp = host.groupedOutcomes;
    return hasCome;
  }
}
