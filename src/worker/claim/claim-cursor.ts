import { Throttle } from '../../lib/throttle.ts';
import { isObject } from '../../lib/thrown.ts';
import type { Claimed, Cursor, Looked, Place } from '../../queue/protocol/claim.ts';
import type { Missed } from '../../queue/protocol/find-missed.ts';

/** How the next claim searches the levels; see `taskq.claim`. */
export interface Look {
  readonly kind: 'on' | 'back' | 'sweep';
  /** Null: from the beginning of every level. */
  readonly cursor: Cursor | null;
  readonly lookBackMs: number | null;
}

/** The result of a claim. */
export interface ClaimReport extends Omit<Claimed, 'refused'> {
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
  /** It covers only some queues, which were not searched before, and costs less than a whole sweep. */
  readonly isPart: boolean;
}

/** The next claim that looks back finds tasks whose transactions take no longer than this. */
const LOOK_BACK_MS = 2000;
const SWEEP_WITH_BACKLOG_MS = 5000;
const SWEEP_WITHOUT_BACKLOG_MS = 500;
/** Looking back takes at most a twentieth of the time of claims; sweeps, which do not delay claims, a hundredth. */
const LOOK_BACK_PAUSE_FACTOR = 20;
const SWEEP_PAUSE_FACTOR = 100;
/** Hints for more queues than this become one hint for everything. */
const MOST_REWINDS = 1000;
/** Beyond this many queues, forget the places in queues that are not served. */
const MOST_PLACES = 1000;

/**
 * Remembers how far claims have searched in each queue and priority, so that none reads again rows that are claimed,
 * dead, or of types not handled here. Decides when to look behind that place for tasks that were committed late or were
 * locked.
 *
 * Without a backlog a claim sweeps by itself, from the beginning of every level, as long as that costs next to nothing.
 * Otherwise a sweep is a statement beside the claims. It only finds the place in each level to which claims must go
 * back. So neither its cost nor its failure delays claims, and no urgent backlog hides what it found.
 */
export class ClaimCursor {
  readonly #places = new Map<string, (Place | null)[]>();
  /** The earliest due time in each queue. */
  #rewinds = new Map<string, number>();
  /** Queues for which it is known what lies before their places. */
  readonly #swept = new Set<string>();
  #isReset = false;
  #era = 0;
  #short = true;
  #turn = 0;
  readonly #lookBacks = new Throttle(LOOK_BACK_PAUSE_FACTOR);
  readonly #sweeps = new Throttle(SWEEP_PAUSE_FACTOR);

  /** Start at the slowest of these live workers' cursors: everything that all of them have passed is claimed. */
  startAt(cursors: readonly unknown[], now: number): void {
    // They may have been stored by workers written in other languages.
    const [first, ...others] = cursors.map(
      (one) => new Map<string, unknown>(isObject(one) ? Object.entries(one) : []),
    );
    if (first === undefined) return;
    for (const [queue, flat] of first) {
      if (!others.every((other) => other.has(queue))) continue;
      const places = unflatten(flat);
      for (const other of others) {
        const theirs = unflatten(other.get(queue));
        for (let priority = 0; priority < 10; priority++) {
          places[priority] = earlier(places[priority] ?? null, theirs[priority] ?? null);
        }
      }
      this.#places.set(queue, places);
      this.#swept.add(queue);
    }
    this.#sweeps.doneElsewhere(now);
  }

  /** The places that another worker may start from. */
  snapshot(): Record<string, (number | null)[]> {
    if (this.#isReset) return {};
    return Object.fromEntries(
      [...this.#places]
        .filter(([queue]) => this.#swept.has(queue))
        .map(([queue, places]) => [
          queue,
          places.flatMap((place) => (place === null ? [null, null] : [place.availableAtUs, place.id])),
        ]),
    );
  }

  /**
   * Start every level again from its beginning, since tasks may have been missed. Applied when the next claim is built.
   */
  reset(): void {
    this.#isReset = true;
    this.#era += 1;
    this.#rewinds.clear();
  }

  /** A task waits in this queue, due at `fromUs`. Applied when the next claim is built. */
  rewind(queue: string, fromUs: number): void {
    this.#rewinds.set(queue, Math.min(fromUs, this.#rewinds.get(queue) ?? Infinity));
    // A hint can name any queue: limit the memory used for them.
    if (this.#rewinds.size > MOST_REWINDS) this.reset();
  }

  /** Whether it is unknown what lies before the places of one of these queues. */
  isBlindIn(queues: readonly string[]): boolean {
    return this.#isReset || queues.some((queue) => !this.#swept.has(queue));
  }

  /** Decide how the next claim searches. */
  next(now: number, queues: readonly string[]): Look {
    this.#applyReset();
    this.#applyRewinds();
    if (this.#sweepsItself && this.#sweeps.isDue(now, SWEEP_WITHOUT_BACKLOG_MS)) {
      return { kind: 'sweep', cursor: null, lookBackMs: null };
    }
    const isWanted = this.#short || this.isBlindIn(queues);
    return (isWanted && !this.#lookBacks.hasFailed) || this.#lookBacks.isDue(now)
      ? { kind: 'back', cursor: this.#places, lookBackMs: LOOK_BACK_MS }
      : { kind: 'on', cursor: this.#places, lookBackMs: null };
  }

  /** Decide whether to search now, beside the claims, what they have passed in these queues. */
  nextSweep(now: number, queues: readonly string[]): Sweep | undefined {
    this.#applyReset();
    this.#applyRewinds();
    if (this.#places.size > MOST_PLACES) this.#forgetAllBut(queues);
    const unswept = queues.filter((queue) => !this.#swept.has(queue));
    const isPart = unswept.length > 0 && unswept.length < queues.length;
    const sweep = { cursor: copyOf(this.#places), era: this.#era };
    if (unswept.length > 0 && (!this.#sweeps.hasFailed || this.#sweeps.isDue(now))) {
      return { ...sweep, queues: unswept, isPart };
    }
    if (queues.length === 0 || this.#sweepsItself) return undefined;
    const leastMs = this.#short ? SWEEP_WITHOUT_BACKLOG_MS : SWEEP_WITH_BACKLOG_MS;
    return this.#sweeps.isDue(now, leastMs) ? { ...sweep, queues, isPart: false } : undefined;
  }

  /** Order the queues for the next claim: each comes first in turn. */
  inTurn(queues: readonly string[]): readonly string[] {
    this.#turn = (this.#turn + 1) % Math.max(1, queues.length);
    return [...queues.slice(this.#turn), ...queues.slice(0, this.#turn)];
  }

  /**
   * Record the result of a claim. The cursor of a level read to its end moves to that end; otherwise to the last task
   * claimed there, even if that is earlier than before.
   */
  claimed({ look, tasks, looked, short, costMs }: ClaimReport, now: number): void {
    this.#short = short;
    if (look.kind !== 'on') this.#lookBacks.done(costMs, now);
    for (let nth = 0; nth < tasks.length; nth++) {
      const { queue, priority, availableAtUs, id } = tasks[nth]!;
      const next = tasks[nth + 1];
      if (next !== undefined && next.priority === priority && next.queue === queue) continue;
      this.#level(queue)[priority] = { availableAtUs, id: safeId(Number(id)) };
    }
    if (looked !== null) this.#lookedTo(looked);
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
    if (!sweep.isPart) this.#sweeps.done(costMs, now);
    if (sweep.era !== this.#era) return;
    for (const { queue, priority, place } of first) {
      const places = this.#level(queue);
      const before = justBefore(place);
      places[priority] = earlier(places[priority] ?? before, before);
    }
    for (const queue of sweep.queues) {
      this.#swept.add(queue);
      const places = this.#level(queue);
      for (let priority = 0; priority < 10; priority++)
        places[priority] ??= { availableAtUs: lookedToUs, id: 0 };
    }
  }

  /** A sweep failed after `costMs`. */
  sweepFailed(costMs: number, now: number): void {
    this.#sweeps.failed(costMs, now);
  }

  get #sweepsItself(): boolean {
    return this.#short && this.#sweeps.isCheap;
  }

  #lookedTo({ toUs, queues, levels }: Looked): void {
    for (let level = 0; level < levels; level++) {
      const queue = queues[level % queues.length]!;
      this.#level(queue)[Math.floor(level / queues.length)] = { availableAtUs: toUs, id: 0 };
    }
  }

  #level(queue: string): (Place | null)[] {
    let places = this.#places.get(queue);
    if (places === undefined) {
      places = new Array<Place | null>(10).fill(null);
      this.#places.set(queue, places);
    }
    return places;
  }

  /** The next sweep covers them again if they are served. */
  #forgetAllBut(queues: readonly string[]): void {
    for (const queue of this.#places.keys()) {
      if (queues.includes(queue)) continue;
      this.#places.delete(queue);
      this.#swept.delete(queue);
    }
  }

  #applyReset(): void {
    if (!this.#isReset) return;
    this.#places.clear();
    this.#swept.clear();
    this.#sweeps.makeDue();
    this.#isReset = false;
  }

  #applyRewinds(): void {
    for (const [queue, fromUs] of this.#rewinds) {
      const places = this.#places.get(queue);
      // From the beginning: leave it to a sweep, as for a queue that was never searched.
      if (fromUs <= 0) this.#swept.delete(queue);
      else if (places !== undefined) {
        const before = { availableAtUs: fromUs - 1, id: 0 };
        for (let priority = 0; priority < 10; priority++)
          places[priority] = earlier(places[priority] ?? before, before);
      }
    }
    this.#rewinds.clear();
  }
}

function copyOf(places: Cursor): Cursor {
  return new Map([...places].map(([queue, levels]) => [queue, [...levels]]));
}

/** Null for a time before 1970, which is treated as the beginning. */
function justBefore({ availableAtUs, id }: Place): Place | null {
  if (availableAtUs <= 0) return null;
  return id > Number.MIN_SAFE_INTEGER
    ? { availableAtUs, id: safeId(id - 1) }
    : { availableAtUs: availableAtUs - 1, id: 0 };
}

/** A rounded number beyond these may not be a valid bigint. */
function safeId(id: number): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(id, Number.MAX_SAFE_INTEGER));
}

/** Null comes before everything. */
function earlier(a: Place | null, b: Place | null): Place | null {
  if (a === null || b === null) return null;
  return a.availableAtUs < b.availableAtUs || (a.availableAtUs === b.availableAtUs && a.id <= b.id) ? a : b;
}

function unflatten(stored: unknown): (Place | null)[] {
  const flat: readonly unknown[] = Array.isArray(stored) ? stored : [];
  return Array.from({ length: 10 }, (_, priority) => {
    const [availableAtUs = null, id = null] = flat.slice(2 * priority, 2 * priority + 2);
    return isWhole(availableAtUs) && isWhole(id) ? { availableAtUs, id } : null;
  });
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
