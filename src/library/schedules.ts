import { checkedName } from '../domain/names.ts';
import { newScheduleOf, type Overlap, type ScheduleOptions } from '../domain/schedule/definition.ts';
import { parseExpression } from '../domain/schedule/expression.ts';
import type { Missed } from '../domain/schedule/missed-policy.ts';
import { checkedZone } from '../domain/schedule/zone.ts';
import type { TaskStatus } from '../domain/task.ts';
import { badOption } from '../lib/bad-option.ts';
import type { Queryable } from '../lib/database.ts';
import type { ListedSchedule } from '../queue/inspect/list-schedules.ts';
import type { ActingSettings } from './acting-settings.ts';
import { ACTING, known } from './known-options.ts';
import { timeOf } from './time-of.ts';

/** A schedule to be set. */
export interface ScheduleSettings<Type extends string = string> extends ScheduleOptions, ActingSettings {
  /** When it fires: cron of 5 or 6 fields (seconds first), `@daily` and the like, or `@every 90s`. */
  readonly expression: string;
  /** The type of its tasks. */
  readonly type: Type;
  /** Their payload, which the schema of the type's handler must accept; default `{}`. */
  readonly payload?: unknown;
  /** Accept a type that no worker has registered. */
  readonly allowUnknown?: boolean;
}

/** A schedule. */
export interface ScheduleRecord {
  /** Its name. */
  readonly name: string;
  /** When it fires. */
  readonly expression: string;
  /** Its time zone. */
  readonly tz: string;
  /** The type of its tasks. */
  readonly type: string;
  /** Their payload. */
  readonly payload: unknown;
  /** The options of its tasks, as the database stores them. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Which ticks fire late. */
  readonly missed: Missed;
  /** What happens to a tick while the task of an earlier one is live. */
  readonly overlap: Overlap;
  /** Each task is due up to this much after its tick. */
  readonly jitterMs: number;
  /** The tick that fires next; null: a worker will compute it, or there is none. */
  readonly nextAt: Date | null;
  /** Null: it is not paused. */
  readonly pause: SchedulePause | null;
  /** The last tick that has fired; null: none has. */
  readonly lastTick: Date | null;
  /** Its task. */
  readonly lastTaskId: string | null;
  /** The status of that task; null: it is gone. */
  readonly lastStatus: TaskStatus | null;
  /** Why the last tick has no task; null: it has one, or that of an earlier tick is live. */
  readonly lastError: string | null;
}

export interface SchedulePause {
  readonly since: Date;
  /** Who paused it: the role of the session, with the name that was given. */
  readonly by: string | null;
  readonly reason: string | null;
}

export interface PreviewSettings {
  /** Time zone; default `UTC`. */
  readonly tz?: string;
  /** Ticks after this instant; default: now. */
  readonly from?: Date;
  /** How many, up to 1000; default 5. */
  readonly count?: number;
}

export interface SchedulePauseSettings {
  /** Reason for the record, shown with the schedule. */
  readonly reason?: string;
  /** Name to record beside the session's role. */
  readonly by?: string;
}

/** The connection and the checks of a queue. */
export interface SchedulesHost {
  withDatabase<T>(work: (db: Queryable) => Promise<T>): Promise<T>;
  /** Throws InvalidPayloadError if the schema of the type refuses the payload. */
  refuseMisfit(type: string, payload: unknown): Promise<void>;
}

/** The schedules of a queue: tasks that workers enqueue at regular times. */
export interface Schedules<Type extends string = string> {
  /**
   * Creates a schedule, or replaces what it enqueues and when; a pause stays. Returns whether it is new, and when it
   * fires next. Throws UnknownTypeError, InvalidPayloadError, or TaskqError for an invalid name, expression or option.
   */
  set(
    name: string,
    settings: ScheduleSettings<Type>,
  ): Promise<{ readonly created: boolean; readonly nextAt: Date | null }>;

  /** Returns every schedule, by name. */
  list(): Promise<readonly ScheduleRecord[]>;

  /** Returns a schedule; undefined: there is none of this name. */
  get(name: string): Promise<ScheduleRecord | undefined>;

  /** Pauses a schedule: its ticks until it is resumed never fire. Returns false if there is none of this name. */
  pause(name: string, settings?: SchedulePauseSettings): Promise<boolean>;

  /** Resumes a paused schedule from its next tick on. Returns false if it was not paused. */
  resume(name: string, settings?: ActingSettings): Promise<boolean>;

  /** Removes a schedule; its tasks stay. Returns false if there is none of this name. */
  remove(name: string, settings?: ActingSettings): Promise<boolean>;

  /**
   * Enqueues the task of a schedule now, in addition to its ticks. `created` is false if the task of an earlier tick is
   * live and the schedule allows no other: `id` is that task, and `error` says why it was not replaced, if it had to
   * be. Returns undefined if there is no schedule of this name.
   */
  run(
    name: string,
    settings?: ActingSettings,
  ): Promise<{ readonly id: string; readonly created: boolean; readonly error: string | null } | undefined>;

  /** Returns the next ticks of an expression, without a database. Throws TaskqError for an invalid one. */
  preview(expression: string, settings?: PreviewSettings): Promise<Date[]>;
}

/** Runs the verbs of schedules with the connection of a queue. */
export class QueueSchedules<Type extends string> implements Schedules<Type> {
  readonly #host: SchedulesHost;

  constructor(host: SchedulesHost) {
    this.#host = host;
  }

  async set(
    name: string,
    { by, reason, allowUnknown, ...settings }: ScheduleSettings<Type>,
  ): Promise<{ readonly created: boolean; readonly nextAt: Date | null }> {
    const schedule = newScheduleOf(name, settings);
    await this.#host.refuseMisfit(schedule.type, JSON.parse(schedule.payload));
    const { setSchedule } = await operations();
    const options = { by, reason, ...(allowUnknown !== undefined && { allowUnknown }) };
    const { created, nextAt } = await this.#host.withDatabase((db) => setSchedule(db, schedule, options));
    return { created, nextAt: timeOf(nextAt) };
  }

  async list(): Promise<readonly ScheduleRecord[]> {
    const { allSchedules } = await operations();
    return (await this.#host.withDatabase(allSchedules)).map(recordOf);
  }

  async get(name: string): Promise<ScheduleRecord | undefined> {
    checkedName('schedule', name);
    const { listSchedules } = await import('../queue/inspect/list-schedules.ts');
    const [schedule] = await this.#host.withDatabase((db) => listSchedules(db, { name }));
    return schedule && recordOf(schedule);
  }

  async pause(name: string, settings: SchedulePauseSettings = {}): Promise<boolean> {
    checkedName('schedule', name);
    const { reason, by } = known(settings, ACTING);
    const { pauseSchedule } = await operations();
    return this.#host.withDatabase((db) => pauseSchedule(db, name, { by, reason: reason ?? null }));
  }

  async resume(name: string, acting: ActingSettings = {}): Promise<boolean> {
    checkedName('schedule', name);
    known(acting, ACTING);
    const { resumeSchedule } = await operations();
    return this.#host.withDatabase((db) => resumeSchedule(db, name, acting));
  }

  async remove(name: string, acting: ActingSettings = {}): Promise<boolean> {
    checkedName('schedule', name);
    known(acting, ACTING);
    const { removeSchedule } = await operations();
    return this.#host.withDatabase((db) => removeSchedule(db, name, acting));
  }

  async run(
    name: string,
    acting: ActingSettings = {},
  ): Promise<{ readonly id: string; readonly created: boolean; readonly error: string | null } | undefined> {
    checkedName('schedule', name);
    known(acting, ACTING);
    const { runSchedule } = await operations();
    return this.#host.withDatabase((db) => runSchedule(db, name, acting));
  }

  async preview(expression: string, settings: PreviewSettings = {}): Promise<Date[]> {
    const { tz = 'UTC', from, count = 5 } = known(settings, { tz: true, from: true, count: true });
    const parsed = parseExpression(expression);
    const zone = checkedZone(tz);
    if (!Number.isInteger(count) || count < 1 || count > 1000)
      throw badOption(`count ${count}: expected a whole number from 1 to 1000`);
    const { nextTicks } = await import('../domain/schedule/next-ticks.ts');
    const ticks = nextTicks(parsed, zone, { from: (from ?? new Date()).getTime(), count });
    return ticks.map((tick) => new Date(tick));
  }
}

/** Imported when first used: an application without schedules loads nothing for them. */
function operations() {
  return import('../queue/operate/schedules.ts');
}

function recordOf(schedule: ListedSchedule): ScheduleRecord {
  const { name, expression, tz, type, payload, missed, overlap, paused_at: since } = schedule;
  return {
    ...{ name, expression, tz, type, payload, missed, overlap },
    options: { ...schedule.task_options },
    jitterMs: schedule.jitter_ms,
    nextAt: timeOf(schedule.next_at),
    pause:
      since === null
        ? null
        : { since: new Date(since), by: schedule.paused_by, reason: schedule.pause_reason },
    lastTick: timeOf(schedule.last_tick),
    lastTaskId: schedule.last_task_id,
    lastStatus: schedule.last_status,
    lastError: schedule.last_error,
  };
}
