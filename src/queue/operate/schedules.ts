import { isDeepStrictEqual } from 'node:util';
import type { NewSchedule } from '../../domain/schedule/definition.ts';
import { parseExpression } from '../../domain/schedule/expression.ts';
import { nextTick } from '../../domain/schedule/next-tick.ts';
import type { Queryable } from '../../lib/database.ts';
import { type ListedSchedule, listSchedules } from '../inspect/list-schedules.ts';
import type { Acting } from './acting.ts';

export interface SetScheduleOptions extends Acting {
  /** Do not check whether the type is known. */
  readonly allowUnknown?: boolean;
  /** Leave a schedule of this name as it is. */
  readonly ifAbsent?: boolean;
}

export interface ScheduleSet {
  /** It is new. */
  readonly created: boolean;
  /** ISO 8601; null: a worker computes it. */
  readonly nextAt: string | null;
}

/** Create a schedule, or replace what it enqueues and when. */
export async function setSchedule(
  db: Queryable,
  { name, expression, type, payload, options }: NewSchedule,
  { by, reason, allowUnknown, ifAbsent }: SetScheduleOptions = {},
): Promise<ScheduleSet> {
  const next = nextTick(expression, options.tz, await databaseTime(db));
  const rows = await db.query<{ created: boolean; next_at: string | null }>({
    text: `select created, to_jsonb(next_at) #>> '{}' as next_at from taskq.set_schedule($1, $2, $3, $4, $5)`,
    values: [
      name,
      expression.text,
      type,
      payload,
      JSON.stringify({
        ...options,
        ...{ by, reason, allow_unknown: allowUnknown, if_absent: ifAbsent },
        next_at: next === undefined ? 'infinity' : new Date(next).toISOString(),
      }),
    ],
  });
  const { created, next_at: nextAt } = rows[0]!;
  return { created, nextAt };
}

/** Fire no more ticks until the schedule is resumed. False: there is no such schedule. */
export async function pauseSchedule(db: Queryable, name: string, { by, reason }: Acting): Promise<boolean> {
  const rows = await db.query<{ paused: boolean }>({
    text: 'select taskq.pause_schedule($1, $2, $3) as paused',
    values: [name, by ?? null, reason ?? null],
  });
  return rows[0]!.paused;
}

/** Resume a paused schedule from its next tick on. False: it was not paused. */
export async function resumeSchedule(
  db: Queryable,
  name: string,
  { by, reason }: Acting = {},
): Promise<boolean> {
  const [schedule] = await listSchedules(db, { name });
  if (schedule === undefined) return false;
  const now = await databaseTime(db);
  const anchor = schedule.next_at === null ? now : Date.parse(schedule.next_at);
  const next = nextTick(
    parseExpression(schedule.expression),
    schedule.tz,
    now,
    Number.isNaN(anchor) ? now : anchor,
  );
  const rows = await db.query<{ resumed: boolean }>({
    text: 'select taskq.resume_schedule($1, $2) as resumed',
    values: [
      name,
      JSON.stringify({ by, reason, ...(next !== undefined && { next_at: new Date(next).toISOString() }) }),
    ],
  });
  return rows[0]!.resumed;
}

/** Remove a schedule; its tasks stay. False: there is no such schedule. */
export async function removeSchedule(
  db: Queryable,
  name: string,
  { by, reason }: Acting = {},
): Promise<boolean> {
  const rows = await db.query<{ removed: boolean }>({
    text: 'select taskq.remove_schedule($1, $2) as removed',
    values: [name, JSON.stringify({ by, reason })],
  });
  return rows[0]!.removed;
}

export interface ScheduleRun {
  readonly id: string;
  /** False: the task holds the key of the schedule, so none was added. */
  readonly created: boolean;
  /** Why that task was not replaced, if it had to be; else null. */
  readonly error: string | null;
}

/** Enqueue the task of a schedule now, in addition to its ticks. Undefined: there is no such schedule. */
export async function runSchedule(
  db: Queryable,
  name: string,
  { by, reason }: Acting = {},
): Promise<ScheduleRun | undefined> {
  const rows = await db.query<ScheduleRun>({
    text: `select id, created, extra ->> 'error' as error from taskq.run_schedule($1, $2)`,
    values: [name, JSON.stringify({ by, reason })],
  });
  return rows[0];
}

/** The database's time, in milliseconds since the epoch: ticks are those after it. */
async function databaseTime(db: Queryable): Promise<number> {
  const rows = await db.query<{ ms: number }>({
    text: 'select (extract(epoch from clock_timestamp()) * 1000)::double precision as ms',
  });
  return rows[0]!.ms;
}

/** Add the schedules that do not exist, and leave the others as they are. Returns the names of those added. */
export async function addMissingSchedules(
  db: Queryable,
  schedules: readonly NewSchedule[],
): Promise<readonly string[]> {
  const added: string[] = [];
  for (const schedule of schedules) {
    if ((await listSchedules(db, { name: schedule.name })).length > 0) continue;
    const { created } = await setSchedule(db, schedule, { allowUnknown: true, ifAbsent: true });
    if (created) added.push(schedule.name);
  }
  return added;
}

/** How a schedule of a configuration differed from the database. */
export type SyncAnswer = 'added' | 'changed' | 'unchanged' | 'removed' | 'left';

/**
 * Make the schedules of the database match a configuration: add and change its schedules, and remove the others or
 * leave them.
 */
export async function syncSchedules(
  db: Queryable,
  schedules: readonly NewSchedule[],
  { others, by, reason }: Acting & { readonly others: 'remove' | 'leave' },
): Promise<ReadonlyMap<string, SyncAnswer>> {
  const existing = new Map((await allSchedules(db)).map((schedule) => [schedule.name, schedule]));
  const answers = new Map<string, SyncAnswer>();
  for (const schedule of schedules) {
    const { name } = schedule;
    const before = existing.get(name);
    existing.delete(name);
    const isSame = before !== undefined && isSameSchedule(schedule, before);
    if (!isSame) await setSchedule(db, schedule, { by, reason, allowUnknown: true });
    answers.set(name, before === undefined ? 'added' : isSame ? 'unchanged' : 'changed');
  }
  for (const name of existing.keys()) {
    if (others === 'remove') await removeSchedule(db, name, { by, reason });
    answers.set(name, others === 'remove' ? 'removed' : 'left');
  }
  return answers;
}

const PAGE = 1000;

/** Every schedule, by name. */
export async function allSchedules(db: Queryable): Promise<ListedSchedule[]> {
  const all: ListedSchedule[] = [];
  for (let page: ListedSchedule[] | undefined; page === undefined || page.length === PAGE; ) {
    page = await listSchedules(db, { after: all.at(-1)?.name ?? '', limit: PAGE });
    all.push(...page);
  }
  return all;
}

function isSameSchedule(
  { expression, type, payload, options }: NewSchedule,
  listed: ListedSchedule,
): boolean {
  const { tz, missed, overlap, jitter_ms, ...task_options } = options;
  return isDeepStrictEqual(
    JSON.parse(
      JSON.stringify({
        ...{ expression: expression.text, type, payload: JSON.parse(payload) },
        ...{ tz, missed, overlap, jitter_ms, task_options },
      }),
    ),
    {
      ...{
        expression: listed.expression,
        type: listed.type,
        payload: JSON.parse(JSON.stringify(listed.payload)),
      },
      ...{ tz: listed.tz, missed: listed.missed, overlap: listed.overlap, jitter_ms: listed.jitter_ms },
      task_options: JSON.parse(JSON.stringify(listed.task_options)),
    },
  );
}
