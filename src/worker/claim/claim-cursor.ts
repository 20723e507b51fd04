import { isObject } from '../../domain/thrown.ts';
import { Spacing } from '../../lib/spacing.ts';
import type { Claimed, Cursor, Looked, Place } from '../../queue/protocol/claim.ts';
import type { Missed } from '../../queue/protocol/find-missed.ts';

/** How the next claim looks at the levels; see `taskq.claim`. */
export interface Look {
  readonly kind: 'on' | 'back' | 'sweep';
  /** Null: from the beginning of every level. */
  readonly cursor: Cursor | null;
  readonly lookBackMs: number | null;
}

/** What a claim brought. */
export interface ClaimReport extends Claimed {
  readonly look: Look;
  /** Fewer than asked for: there is no backlog. */
  readonly short: boolean;
  readonly costMs: number;
}

/** A look at what claims have passed, beside them. */
export interface Sweep {
  readonly queues: readonly string[];
  readonly cursor: Cursor;
  /** One that a reset has overtaken says nothing of what lies before the new cursors. */
  readonly era: number;
  /** Some of the queues alone, which were not looked at before: it costs less than a whole one. */
  readonly isPart: boolean;
}

/** Tasks whose transaction takes no longer are found by the next claim that looks back. */
const LOOK_BACK_MS = 2000;
const SWEEP_WITH_BACKLOG_MS = 5000;
const SWEEP_WITHOUT_BACKLOG_MS = 500;
/** Looks back take at most a twentieth of the time of claims; sweeps, which do not hold them up, a hundredth. */
const LOOK_BACK_SPACING = 20;
const SWEEP_SPACING = 100;
/** Hints of more queues than this are one hint, of everything. */
const MOST_REWINDS = 1000;
/** Places in more queues than this are forgotten, but for those of the queues served. */
const MOST_PLACES = 1000;

/**
 * Remembers per queue and priority how far claims have looked, so that none walks what is claimed, dead or of types that
 * are not handled here; and decides when to look behind it for what was committed late, or was locked. Without a backlog
 * a claim sweeps itself, from the beginning of every level, as long as that costs next to nothing. Else a sweep is a
 * statement beside the claims: it only says where they have to go back to, in every level, so that neither its cost nor
 * its failure holds them up, and no urgent backlog hides what it found.
 */
export class ClaimCursor {
  readonly #places = new Map<string, (Place | null)[]>();
  /** The earliest time of each queue. */
  #rewinds = new Map<string, number>();
  /** The queues of which is known what lies before their places. */
  readonly #swept = new Set<string>();
  #isReset = false;
  #era = 0;
  #short = true;
  #turn = 0;
  readonly #lookBacks = new Spacing(LOOK_BACK_SPACING);
  readonly #sweeps = new Spacing(SWEEP_SPACING);

  /** Start where the slowest of these live workers is: what they have all passed is claimed. */
  startAt(cursors: readonly unknown[], now: number): void {
    // They were stored by workers in whatever language.
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

  /** What another worker may start from. */
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

  /** Begin every level anew: it is not known what was missed. Applied to the next claim that is built. */
  reset(): void {
    this.#isReset = true;
    this.#era += 1;
    this.#rewinds.clear();
  }

  /** A task waits in this queue from that time on. Applied to the next claim that is built. */
  rewind(queue: string, fromUs: number): void {
    this.#rewinds.set(queue, Math.min(fromUs, this.#rewinds.get(queue) ?? Infinity));
    // A queue of any name can be hinted at: no memory of them all is kept.
    if (this.#rewinds.size > MOST_REWINDS) this.reset();
  }

  /** Whether it is not known yet what lies before the places of one of these queues. */
  isBlindIn(queues: readonly string[]): boolean {
    return this.#isReset || queues.some((queue) => !this.#swept.has(queue));
  }

  /** Decide how the next claim looks. */
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

  /** Decide whether to look now, beside the claims, at what they have passed in these queues. */
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

  /** Put the queues in the order of the next claim: each comes first in its turn. */
  inTurn(queues: readonly string[]): readonly string[] {
    this.#turn = (this.#turn + 1) % Math.max(1, queues.length);
    return [...queues.slice(this.#turn), ...queues.slice(0, this.#turn)];
  }

  /**
   * Take in what a claim brought. A level's cursor is where it was read to its end, else the last task claimed there, be
   * it earlier than before.
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
    // What has filled its limit has not come to the less urgent levels.
    if (look.kind !== 'sweep' || !short || looked === null) return;
    this.#sweeps.done(costMs, now);
    for (const queue of looked.queues) this.#swept.add(queue);
  }

  /** A claim failed after so long. */
  failed(look: Look, costMs: number, now: number): void {
    if (look.kind === 'back') this.#lookBacks.failed(costMs, now);
    if (look.kind === 'sweep') this.#sweeps.failed(costMs, now);
  }

  /** Take in what a sweep found: claims go back there. */
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

  /** A sweep failed after so long. */
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

  /** They are swept again should they be served. */
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
      // From the beginning: that is a sweep's to find out, as in a queue that was not looked at yet.
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

/** Null: a time from before 1970 is told as that. */
function justBefore({ availableAtUs, id }: Place): Place | null {
  if (availableAtUs <= 0) return null;
  return id > Number.MIN_SAFE_INTEGER
    ? { availableAtUs, id: safeId(id - 1) }
    : { availableAtUs: availableAtUs - 1, id: 0 };
}

/** Beyond these, a number that was rounded may be no bigint. */
function safeId(id: number): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(id, Number.MAX_SAFE_INTEGER));
}

/** Null is before everything. */
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
