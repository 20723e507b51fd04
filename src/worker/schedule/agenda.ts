import { type Expression, parseExpression } from '../../domain/schedule/expression.ts';
import { type Firing, firingOf } from '../../domain/schedule/late-ticks.ts';
import { nextTick } from '../../domain/schedule/next-tick.ts';
import { type FireAnswer, MOST_UPCOMING, type UpcomingSchedule } from '../../queue/protocol/fire-schedule.ts';

/** A schedule whose tick has come or must be computed, and what to do about it. */
export interface DueFiring extends Firing {
  readonly schedule: UpcomingSchedule;
}

interface Entry {
  readonly schedule: UpcomingSchedule;
  /** When `schedule.now_ms` was read, on this process's clock. */
  readonly readAt: number;
  /** When to fire it, on this process's clock. */
  readonly fireAt: number;
}

/** How often in a row a schedule could not be fired, and when it is tried again. */
interface Failing {
  readonly failures: number;
  readonly fireAt: number;
}

/** Wait this long for the clock of the database when a tick has not come by it. */
const EARLY_MS = 2;
const FIRST_RETRY_MS = 50;
const MOST_RETRY_MS = 10_000;

/**
 * Which schedules fire next, as far as a worker knows, and when by its own clock, which need not agree with the
 * database's. Reads no clock and calls nothing.
 */
export class Agenda {
  #entries = new Map<string, Entry>();
  /** By name, also of schedules that the last answer has left out: it may return them again. */
  readonly #failing = new Map<string, Failing>();
  #isCut = false;
  #isOutdated = false;

  /** Take what the database answered at `readAt`: the schedules that fire next. */
  learn(upcoming: readonly UpcomingSchedule[], readAt: number): void {
    this.#isCut = upcoming.length >= MOST_UPCOMING;
    this.#isOutdated = false;
    this.#entries = new Map(
      upcoming.map((schedule) => {
        // A schedule that cannot be fired now is not tried more often because it is read again.
        const { fireAt = 0 } = this.#failing.get(schedule.name) ?? {};
        const dueAt = readAt + Math.max(0, schedule.in_ms ?? 0);
        return [schedule.name, { schedule, readAt, fireAt: Math.max(fireAt, dueAt) }];
      }),
    );
    if (this.#isCut) return;
    for (const name of this.#failing.keys()) if (!this.#entries.has(name)) this.#failing.delete(name);
  }

  /** Whether it knows no schedule: then an answer without any changes nothing. */
  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /** When the next schedule fires; infinity: none is known. */
  get nextAt(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { fireAt } of this.#entries.values()) next = Math.min(next, fireAt);
    return next;
  }

  /** The database has news: it returns only the next hundred schedules, or one has changed. */
  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  /** The schedules to be fired now. */
  due(now: number): readonly UpcomingSchedule[] {
    return [...this.#entries.values()].filter(({ fireAt }) => fireAt <= now).map(({ schedule }) => schedule);
  }

  /** Decides what a schedule fires. Throws TaskqError for an expression that cannot be read. */
  firing({ name }: UpcomingSchedule, now: number): DueFiring | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    const { schedule, readAt } = entry;
    const expression: Expression = parseExpression(schedule.expression);
    const { tz, missed, next_at } = schedule;
    const databaseNow = schedule.now_ms + (now - readAt);
    if (next_at === null)
      return { schedule, ticks: [], next: nextTick(expression, tz, databaseNow), passed: 0 };
    const tick = Date.parse(next_at);
    // The clock of the database decides whether it has come.
    return { schedule, ...firingOf({ expression, tz, missed, tick }, Math.max(databaseNow, tick)) };
  }

  /** Take what the database answered to the firing of a schedule. */
  answered({ name }: UpcomingSchedule, { answer, nextAt, inMs }: FireAnswer, readAt: number): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    if (answer !== 'busy') this.#failing.delete(name);
    // Others may come before its next tick.
    if (this.#isCut && answer !== 'busy' && answer !== 'early') this.#isOutdated = true;
    const isMoved = nextAt !== null && inMs !== null && nextAt !== entry.schedule.next_at;
    if (answer === 'busy') this.#retry(entry, readAt);
    else if (answer === 'early' && inMs !== null)
      this.#place(entry, entry.schedule.next_at!, inMs, readAt, EARLY_MS);
    else if (isMoved) this.#place(entry, nextAt, inMs, readAt, 0);
    else {
      // Removed, paused, changed, or without another tick.
      this.#entries.delete(name);
      if (answer === 'changed') this.#isOutdated = true;
    }
  }

  /** The firing of a schedule failed: retry with growing waits. */
  failed({ name }: UpcomingSchedule, now: number): void {
    const entry = this.#entries.get(name);
    if (entry !== undefined) this.#retry(entry, now);
  }

  #place({ schedule }: Entry, nextAt: string, inMs: number, readAt: number, leastMs: number): void {
    const now_ms = Date.parse(nextAt) - inMs;
    this.#entries.set(schedule.name, {
      schedule: { ...schedule, next_at: nextAt, in_ms: inMs, now_ms },
      ...{ readAt, fireAt: readAt + Math.max(leastMs, inMs) },
    });
  }

  #retry(entry: Entry, now: number): void {
    const { name } = entry.schedule;
    const failures = (this.#failing.get(name)?.failures ?? 0) + 1;
    const fireAt = now + Math.min(MOST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1));
    this.#failing.set(name, { failures, fireAt });
    this.#entries.set(name, { ...entry, fireAt });
  }
}
