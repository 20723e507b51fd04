import { Throttle } from '../../lib/throttle.ts';
import { isObject } from '../../lib/thrown.ts';
import {
  ASKS,
  type Claimed,
  type Cursor,
  type Looked,
  type SearchStart,
} from '../../queue/protocol/claim.ts';
import type { Missed, MissedTask } from '../../queue/protocol/find-missed.ts';
import { Positions } from './positions.ts';

/** How the next claim searches the levels; see `taskq.claim`. */
export interface Look extends SearchStart {
  readonly kind: 'forward' | 'back' | 'sweep';
}

/** The result of a claim. */
export interface ClaimReport extends Omit<Claimed, 'refused' | 'isProbe'> {
  readonly look: Look;
  /** Fewer tasks than asked for: there is no backlog. */
  readonly short: boolean;
  readonly costMs: number;
}

/** A search, beside the claims, for tasks that claims have passed. */
export interface Sweep {
  readonly queues: readonly string[];
  readonly cursor: Cursor;
  /** The result of a sweep overtaken by a reset is ignored: it does not cover what lies before the new cursors. */
  readonly era: number;
  /** It covers only queues that were not searched before, and costs less than a whole sweep. */
  readonly isPart: boolean;
}

/** The next claim that looks back finds tasks whose transactions take no longer than this. */
const LOOK_BACK_MS = 2000;
const SWEEP_WITH_BACKLOG_MS = 5000;
const SWEEP_WITHOUT_BACKLOG_MS = 500;
/** Caps the cost of the first sweep: after a cold one, the second would be a minute away. */
const FIRST_SWEEP_COST_MS = 10;
/** Looking back takes at most a twentieth of the time of claims; sweeps, which do not delay claims, a hundredth. */
const LOOK_BACK_PAUSE_FACTOR = 20;
const SWEEP_PAUSE_FACTOR = 100;
/** Hints for more queues than this become one hint for everything. */
const MOST_REWINDS = 1000;
/** Beyond this many queues, forget the positions in queues that are not served. */
const MOST_POSITIONS = 1000;

/**
 * Remembers how far claims have searched in each queue and priority, so that no claim rereads rows that are claimed,
 * dead, or of types not handled here. Decides when to look behind that position for tasks that were committed late or
 * were locked.
 *
 * Without a backlog a claim sweeps by itself, from the beginning of every level, as long as that costs next to nothing.
 * Otherwise a sweep is a statement beside the claims. It finds only the position in each level to which claims must go
 * back, so neither its cost nor its failure delays claims, and an urgent backlog hides nothing that it found.
 */
export class ClaimCursor {
  readonly #positions = new Positions();
  /**
   * Tasks found by sweeps since the last claim was built. That claim does not know them, so its answer must not move the
   * cursor past them.
   */
  #missed: readonly MissedTask[] = [];
  /** The earliest due time in each queue. */
  #rewinds = new Map<string, number>();
  /** Queues whose rows before their positions are known. */
  readonly #swept = new Set<string>();
  #isReset = false;
  #era = 0;
  #short = true;
  #turn = 0;
  readonly #lookBacks = new Throttle(LOOK_BACK_PAUSE_FACTOR);
  readonly #sweeps = new Throttle(SWEEP_PAUSE_FACTOR, FIRST_SWEEP_COST_MS);
  /** A sweep beside the claims is under way. */
  #isSweeping = false;
  /** One has begun since the last claim was built. */
  #hasSwept = false;
  /** Neither the last claim nor a sweep beside it searched behind the cursor. */
  #owesSweep = false;

  /** Start at the slowest of these live workers' cursors: everything that all of them have passed is claimed. */
  startAt(cursors: readonly unknown[], now: number): void {
    if (cursors.length === 0) return;
    const stored = cursors.map((one) => new Map<string, unknown>(isObject(one) ? Object.entries(one) : []));
    for (const queue of stored[0]!.keys()) {
      if (!stored.every((one) => one.has(queue))) continue;
      this.#positions.startAt(
        queue,
        stored.map((one) => one.get(queue)),
      );
      this.#swept.add(queue);
    }
    this.#sweeps.doneElsewhere(now);
  }

  /** The positions that another worker may start from. */
  snapshot(): Record<string, (number | null)[]> {
    if (this.#isReset) return {};
    const known = this.#positions.queues.filter((queue) => this.#swept.has(queue));
    return Object.fromEntries(known.map((queue) => [queue, this.#positions.stored(queue)]));
  }

  /**
   * Start every level again from its beginning, since tasks may have been missed. Applied when the next claim is built.
   */
  reset(): void {
    this.#isReset = true;
    this.#era += 1;
    this.#missed = [];
    this.#rewinds.clear();
  }

  /** A task waits in this queue, due at `fromUs`. Applied when the next claim is built. */
  rewind(queue: string, fromUs: number): void {
    this.#rewinds.set(queue, Math.min(fromUs, this.#rewinds.get(queue) ?? Infinity));
    // A hint can name any queue: limit the memory used for them.
    if (this.#rewinds.size > MOST_REWINDS) this.reset();
  }

  /** Whether one of these queues has unknown rows before its positions. */
  isBlindIn(queues: readonly string[]): boolean {
    return this.#isReset || queues.some((queue) => !this.#swept.has(queue));
  }

  /** Milliseconds from `now` until the sweep that the last claim was too early for; null: it was not. */
  owedSweepInMs(now: number): number | null {
    return this.#owesSweep ? this.#sweeps.dueInMs(now, this.#leastSweepMs) : null;
  }

  /** Decide how the next claim searches. It must look back if what it is for may be older than the positions. */
  next(now: number, queues: readonly string[], mustLookBack = false): Look {
    this.#applyReset();
    this.#applyRewinds();
    this.#missed = [];
    const sweeps = this.#sweepsItself && this.#sweeps.isDue(now, SWEEP_WITHOUT_BACKLOG_MS);
    this.#owesSweep = !sweeps && !this.#hasSwept && !this.#isSweeping;
    this.#hasSwept = false;
    if (sweeps) return { kind: 'sweep', cursor: null, lookBackMs: null };
    const isWanted = this.#short || this.isBlindIn(queues);
    return mustLookBack || (isWanted && !this.#lookBacks.hasFailed) || this.#lookBacks.isDue(now)
      ? { kind: 'back', cursor: this.#positions.cursor, lookBackMs: LOOK_BACK_MS }
      : { kind: 'forward', cursor: this.#positions.cursor, lookBackMs: null };
  }

  /** Decide whether to search now, beside the claims, what they have passed in these queues. */
  nextSweep(now: number, queues: readonly string[]): Sweep | undefined {
    this.#applyReset();
    this.#applyRewinds();
    if (this.#positions.size > MOST_POSITIONS) this.#forgetAllBut(queues);
    const unswept = queues.filter((queue) => !this.#swept.has(queue));
    if (unswept.length > 0 && (!this.#sweeps.hasFailed || this.#sweeps.isDue(now))) {
      return this.#sweepOf(unswept, unswept.length < queues.length);
    }
    if (queues.length === 0 || this.#sweepsItself) return undefined;
    return this.#sweeps.isDue(now, this.#leastSweepMs) ? this.#sweepOf(queues, false) : undefined;
  }

  /** Order the queues for the next claim: the next queue first, or the same one again if its task was left out. */
  inTurn(queues: readonly string[], whose: 'next' | 'same' = 'next'): readonly string[] {
    this.#turn = (this.#turn + (whose === 'next' ? 1 : 0)) % Math.max(1, queues.length);
    return [...queues.slice(this.#turn), ...queues.slice(0, this.#turn)];
  }

  /**
   * Record the result of a claim. The cursor of a level read to its end moves to that end; otherwise to the last task
   * claimed there, even if that is earlier than before.
   */
  claimed({ look, tasks, looked, short, costMs }: ClaimReport, now: number): void {
    this.#short = short;
    if (look.kind !== 'forward') this.#lookBacks.done(costMs, now);
    for (let nth = 0; nth < tasks.length; nth++) {
      const { queue, priority, availableAtUs, id } = tasks[nth]!;
      const next = tasks[nth + 1];
      if (next !== undefined && next.priority === priority && next.queue === queue) continue;
      this.#positions.moveTo(queue, priority, { availableAtUs, id: Number(id) });
    }
    if (looked !== null) this.#lookedTo(looked);
    this.#goBack();
    // A claim that reached its limit has not read the less urgent levels.
    if (look.kind !== 'sweep' || !short || looked === null) return;
    this.#sweeps.done(costMs, now);
    for (const queue of looked.queues) this.#swept.add(queue);
  }

  /** A claim failed after `costMs`. */
  failed(look: Look, costMs: number, now: number): void {
    if (look.kind === 'back') this.#lookBacks.failed(costMs, now);
    if (look.kind === 'sweep') this.#sweeps.failed(costMs, now);
  }

  /** Record the result of a sweep: claims go back to what it found. */
  sweptBeside(sweep: Sweep, { first, lookedToUs }: Missed, costMs: number, now: number): void {
    this.#isSweeping = false;
    if (!sweep.isPart) this.#sweeps.done(costMs, now);
    if (sweep.era !== this.#era) return;
    this.#missed = [...this.#missed, ...first];
    this.#goBack();
    for (const queue of sweep.queues) {
      this.#swept.add(queue);
      this.#positions.beginAt(queue, { availableAtUs: lookedToUs, id: 0 });
    }
  }

  /** A sweep failed after `costMs`. */
  sweepFailed(costMs: number, now: number): void {
    this.#isSweeping = false;
    this.#sweeps.failed(costMs, now);
  }

  #sweepOf(queues: readonly string[], isPart: boolean): Sweep {
    this.#isSweeping = true;
    this.#hasSwept = true;
    return { queues, cursor: this.#positions.copy(), era: this.#era, isPart };
  }

  get #leastSweepMs(): number {
    return this.#short ? SWEEP_WITHOUT_BACKLOG_MS : SWEEP_WITH_BACKLOG_MS;
  }

  get #sweepsItself(): boolean {
    return this.#short && this.#sweeps.isCheap;
  }

  #lookedTo({ toUs, queues, levels, askedToUs, asksLeft }: Looked): void {
    for (const queue of queues)
      this.#positions.moveTo(queue, ASKS, asksLeft.get(queue) ?? { availableAtUs: askedToUs, id: 0 });
    for (let level = 0; level < levels; level++) {
      const queue = queues[level % queues.length]!;
      this.#positions.moveTo(queue, Math.floor(level / queues.length), { availableAtUs: toUs, id: 0 });
    }
  }

  /** The next sweep covers them again if they are served. */
  #forgetAllBut(queues: readonly string[]): void {
    for (const queue of this.#positions.queues) {
      if (queues.includes(queue)) continue;
      this.#positions.forget(queue);
      this.#swept.delete(queue);
    }
  }

  #applyReset(): void {
    if (!this.#isReset) return;
    this.#positions.clear();
    this.#swept.clear();
    this.#sweeps.makeDue();
    this.#isReset = false;
  }

  #goBack(): void {
    for (const { queue, priority, position } of this.#missed)
      this.#positions.goBackBefore(queue, priority, position);
  }

  #applyRewinds(): void {
    for (const [queue, fromUs] of this.#rewinds) {
      // From the beginning: leave it to a sweep, as for a queue that was never searched.
      if (fromUs <= 0) this.#swept.delete(queue);
      else this.#positions.goBackToTime(queue, fromUs);
    }
    this.#rewinds.clear();
  }
}
