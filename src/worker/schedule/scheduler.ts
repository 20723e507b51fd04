import { backingOffMs } from '../../lib/backing-off.ts';
import { isUnanswered, type Queryable } from '../../lib/database.ts';
import { messageOf } from '../../lib/thrown.ts';
import { Wakeup } from '../../lib/wakeup.ts';
import {
  type FireAnswer,
  fireSchedule,
  type UpcomingSchedule,
  upcomingSchedules,
} from '../../queue/protocol/fire-schedule.ts';
import { processClock } from '../lease/lease-table.ts';
import type { EventLog } from '../log/events.ts';
import { OnceAMinute } from '../log/once-a-minute.ts';
import { Agenda, type DueFiring } from './agenda.ts';

export interface SchedulerOptions {
  readonly db: Queryable;
  readonly events: EventLog;
  /** A task was enqueued. */
  readonly onFired: () => void;
  readonly onStatementFailed: (error: unknown) => void;
}

/** Without a schedule, wait until one is set. */
const MOST_WAIT_MS = 86_400_000;

/**
 * Fires schedules when their ticks come. Every worker tries, and the database lets the first one: the others learn from
 * its answer what comes next.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #agenda = new Agenda();
  readonly #wakeup = new Wakeup();
  readonly #logged = new OnceAMinute();
  #hasLearned = false;
  #isFiring = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** Take the schedules that fire next, which came at `readAt` (`processClock`) with the answer to another statement. */
  learn(upcoming: readonly UpcomingSchedule[], readAt: number): void {
    this.#hasLearned = true;
    if (upcoming.length === 0 && this.#agenda.isEmpty) return;
    this.#agenda.learn(upcoming, readAt);
    this.#wakeup.trigger();
  }

  /**
   * Whether nothing is due: each tick that has come was fired, here or by another worker, or could not be. Asks the
   * database if it does not know yet what is due.
   */
  async isSettled(): Promise<boolean> {
    if (!this.#hasLearned) this.learn(await upcomingSchedules(this.#options.db), processClock());
    return !this.#isFiring && this.#agenda.nextAt > processClock();
  }

  /** Fire what is due, until `stop`. */
  async run(stop: AbortSignal): Promise<void> {
    for (let failures = 0; !stop.aborted; ) {
      const waitMs = Math.ceil(Math.min(this.#agenda.nextAt - processClock(), MOST_WAIT_MS));
      if (waitMs > 0) await this.#wakeup.wait(waitMs, stop);
      if (stop.aborted) return;
      try {
        await this.#fireDue(stop);
        failures = 0;
      } catch (error) {
        failures += 1;
        this.#options.onStatementFailed(error);
        await this.#wakeup.wait(backingOffMs(failures, Math.random()), stop);
      }
    }
  }

  async #fireDue(stop: AbortSignal): Promise<void> {
    this.#isFiring = true;
    try {
      await this.#fireEach(stop);
    } finally {
      this.#isFiring = false;
    }
  }

  async #fireEach(stop: AbortSignal): Promise<void> {
    // Each worker in an order of its own, so that they share what is due at once.
    for (const schedule of shuffled(this.#agenda.due(processClock()))) {
      if (stop.aborted) return;
      await this.#fire(schedule);
    }
    if (this.#agenda.isOutdated)
      this.#agenda.learn(await upcomingSchedules(this.#options.db), processClock());
  }

  async #fire(schedule: UpcomingSchedule): Promise<void> {
    try {
      const firing = this.#agenda.firing(schedule, processClock());
      if (firing === undefined) return;
      const { name, expression, tz, next_at: expected } = firing.schedule;
      const { ticks, next } = firing;
      const answer = await fireSchedule(this.#options.db, { name, expression, tz, expected, next, ticks });
      this.#agenda.answered(schedule, answer, processClock());
      if (answer.answer === 'fired') this.#log(firing, answer);
    } catch (error) {
      if (isUnanswered(error)) throw error;
      this.#agenda.failed(schedule, processClock());
      this.#logFailed(schedule.name, messageOf(error));
    }
  }

  #logFailed(name: string, message: string): void {
    if (this.#logged.pass(`${name}\n${message}`))
      this.#options.events.event('schedule.failed', { schedule: name, error: { message } });
  }

  #log({ schedule: { name }, ticks, passed }: DueFiring, { id, tasks, error }: FireAnswer): void {
    const { events, onFired } = this.#options;
    const tick = ticks.at(-1);
    if (passed > 0) events.event('schedule.passed', { schedule: name, passed });
    if (tick === undefined || id === null) return;
    if (error !== undefined) {
      this.#logFailed(name, error);
      return;
    }
    events.event('schedule.fired', {
      ...{ schedule: name, tick: new Date(tick).toISOString(), task_id: id, tasks },
    });
    onFired();
  }
}

function shuffled<T>(all: readonly T[]): readonly T[] {
  return all
    .map((item) => ({ item, place: Math.random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);
}
