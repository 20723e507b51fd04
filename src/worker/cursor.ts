import type { ClaimedTask } from '../domain/task.ts';
import type { Cursor, Place } from '../queue/claim.ts';

/** How the next claim looks at the levels; see `taskq.claim`. */
export interface Look {
  readonly kind: 'on' | 'back' | 'sweep';
  readonly cursor: Cursor | null;
  readonly lookBackMs: number | null;
}

/** What a claim brought. */
export interface ClaimReport {
  readonly look: Look;
  readonly tasks: readonly ClaimedTask[];
  /** Fewer than asked for: there is no backlog. */
  readonly short: boolean;
  readonly costMs: number;
}

/** Tasks whose transaction takes no longer are found by the next claim that looks back. */
const LOOK_BACK_MS = 2000;
const SWEEP_WITH_BACKLOG_MS = 5000;
const SWEEP_WITHOUT_BACKLOG_MS = 500;
/** A look back or a sweep is made at most so rarely that it takes a twentieth of the time. */
const COST_FACTOR = 20;
/** Hints of more queues than this are one hint, of everything. */
const MOST_REWINDS = 1000;

/**
 * Remembers per queue and priority the last task claimed, so that no claim walks what is claimed or dead; and decides
 * when to look behind it for what was committed late.
 */
export class ClaimCursor {
  readonly #places = new Map<string, (Place | null)[]>();
  /** The earliest time of each queue. */
  #rewinds = new Map<string, number>();
  #isReset = false;
  #short = true;
  #turn = 0;
  #lookedBack = { at: -Infinity, costMs: 0 };
  #swept = { at: -Infinity, costMs: 0 };

  /** Start where the slowest of these live workers is: what they have all passed is claimed. */
  startAt(cursors: readonly Readonly<Record<string, readonly (number | null)[]>>[]): void {
    const [first, ...others] = cursors;
    if (first === undefined) return;
    for (const [queue, flat] of Object.entries(first)) {
      const places = unflatten(flat);
      for (const other of others) {
        const theirs = unflatten(other[queue] ?? []);
        for (let priority = 0; priority < 10; priority++) {
          places[priority] = earlier(places[priority] ?? null, theirs[priority] ?? null);
        }
      }
      this.#places.set(queue, places);
    }
    this.#swept.at = performance.now();
  }

  /** What another worker may start from. */
  snapshot(): Record<string, (number | null)[]> {
    if (this.#isReset) return {};
    return Object.fromEntries(
      [...this.#places].map(([queue, places]) => [
        queue,
        places.flatMap((place) => (place === null ? [null, null] : [place.availableAtUs, place.id])),
      ]),
    );
  }

  /** Begin every level anew: it is not known what was missed. Applied to the next claim that is built. */
  reset(): void {
    this.#isReset = true;
    this.#rewinds.clear();
  }

  /** A task waits in this queue from that time on. Applied to the next claim that is built. */
  rewind(queue: string, fromUs: number): void {
    this.#rewinds.set(queue, Math.min(fromUs, this.#rewinds.get(queue) ?? Infinity));
    // A queue of any name can be hinted at: no memory of them all is kept.
    if (this.#rewinds.size > MOST_REWINDS) this.reset();
  }

  /** Decide how the next claim looks. */
  next(now: number): Look {
    if (this.#isReset) {
      this.#places.clear();
      this.#swept.at = -Infinity;
      this.#isReset = false;
    }
    this.#applyRewinds();
    const sweepAfterMs = this.#short ? SWEEP_WITHOUT_BACKLOG_MS : SWEEP_WITH_BACKLOG_MS;
    if (now - this.#swept.at >= Math.max(sweepAfterMs, COST_FACTOR * this.#swept.costMs)) {
      return { kind: 'sweep', cursor: null, lookBackMs: null };
    }
    const lookBack = this.#short || now - this.#lookedBack.at >= COST_FACTOR * this.#lookedBack.costMs;
    return lookBack
      ? { kind: 'back', cursor: this.#places, lookBackMs: LOOK_BACK_MS }
      : { kind: 'on', cursor: this.#places, lookBackMs: null };
  }

  /** Put the queues in the order of the next claim: each comes first in its turn. */
  inTurn(queues: readonly string[]): readonly string[] {
    this.#turn = (this.#turn + 1) % Math.max(1, queues.length);
    return [...queues.slice(this.#turn), ...queues.slice(0, this.#turn)];
  }

  /** Take in what a claim brought: a level's cursor is the last task claimed there, be it earlier than before. */
  claimed({ look, tasks, short, costMs }: ClaimReport, now: number): void {
    this.#short = short;
    if (look.kind === 'sweep') this.#swept = { at: now, costMs };
    if (look.kind !== 'on') this.#lookedBack = { at: now, costMs };
    for (const { queue, priority, availableAtUs, id } of tasks) {
      this.#level(queue)[priority] = {
        availableAtUs,
        id: Math.min(Number(id), Number.MAX_SAFE_INTEGER), // beyond, it would be no bigint any more
      };
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

  #applyRewinds(): void {
    for (const [queue, fromUs] of this.#rewinds) {
      const places = this.#places.get(queue);
      places?.forEach((place, priority) => {
        places[priority] = place && earlier(place, { availableAtUs: fromUs - 1, id: 0 });
      });
    }
    this.#rewinds.clear();
  }
}

/** Null is before everything. */
function earlier(a: Place | null, b: Place | null): Place | null {
  if (a === null || b === null) return null;
  return a.availableAtUs < b.availableAtUs || (a.availableAtUs === b.availableAtUs && a.id <= b.id) ? a : b;
}

function unflatten(flat: readonly (number | null)[]): (Place | null)[] {
  return Array.from({ length: 10 }, (_, priority) => {
    const [availableAtUs = null, id = null] = flat.slice(2 * priority, 2 * priority + 2);
    // It was stored by a worker in whatever language.
    return isWhole(availableAtUs) && isWhole(id) ? { availableAtUs, id } : null;
  });
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
