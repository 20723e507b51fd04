import type { Missed } from '../../domain/schedule/missed-policy.ts';
import type { Queryable } from '../../lib/database.ts';

/** A schedule that will fire, as the database returns it. */
export interface UpcomingSchedule {
  readonly name: string;
  readonly expression: string;
  readonly tz: string;
  readonly missed: Missed;
  /** The tick, as the database writes it; null: to be computed. */
  readonly next_at: string | null;
  /** Milliseconds until the tick, negative if it has come; null: to be computed. */
  readonly in_ms: number | null;
  /** The database's time when it said so, in milliseconds since the epoch. */
  readonly now_ms: number;
}

/** The maximum number of schedules that the database returns. */
export const MOST_UPCOMING = 100;

/** Read which schedules fire next. */
export async function upcomingSchedules(db: Queryable): Promise<readonly UpcomingSchedule[]> {
  const rows = await db.query<{ upcoming: readonly UpcomingSchedule[] | null }>({
    name: 'taskq_upcoming_schedules',
    text: 'select taskq.upcoming_schedules() as upcoming',
    values: [],
  });
  return rows[0]!.upcoming ?? [];
}

export interface FireRequest {
  readonly name: string;
  readonly expression: string;
  readonly tz: string;
  /** The tick that the schedule fires next, as the database wrote it; null: it has none yet. */
  readonly expected: string | null;
  /** The tick after those that fire or are skipped; undefined: there is none. */
  readonly next: number | undefined;
  /** The ticks that get a task. */
  readonly ticks: readonly number[];
}

export interface FireAnswer {
  /** `changed`: it is another, or paused; `busy`: another transaction has it locked, ask again. */
  readonly answer: 'fired' | 'early' | 'changed' | 'busy' | 'gone';
  /** The tick that it fires next, as the database writes it; null: unknown. */
  readonly nextAt: string | null;
  /** Milliseconds until then; null: unknown, or there is none. */
  readonly inMs: number | null;
  /** The last task. */
  readonly id: string | null;
  /** How many tasks are new. */
  readonly tasks: number;
  /** Why the last task, that of an earlier tick, was not replaced. */
  readonly error?: string | undefined;
}

/** Fire a schedule if its tick has come and no other worker has fired it. */
export async function fireSchedule(db: Queryable, request: FireRequest): Promise<FireAnswer> {
  const { name, expression, tz, expected, next } = request;
  // The first one as the database wrote it, to the microsecond.
  const ticks = request.ticks.map((tick) =>
    expected !== null && tick === Date.parse(expected) ? expected : new Date(tick).toISOString(),
  );
  const rows = await db.query<{
    answer: FireAnswer['answer'];
    next_at: string | null;
    in_ms: number | null;
    id: string | null;
    extra: { readonly tasks: number; readonly error?: string } | null;
  }>({
    name: 'taskq_fire_schedule',
    text: `select answer, to_jsonb(next_at) #>> '{}' as next_at, in_ms, id, extra
      from taskq.fire_schedule($1, $2, $3, $4)`,
    values: [
      name,
      expected,
      next === undefined ? 'infinity' : new Date(next).toISOString(),
      JSON.stringify({ expression, tz, ticks }),
    ],
  });
  const { answer, next_at: nextAt, in_ms: inMs, id, extra } = rows[0]!;
  return { answer, nextAt, inMs, id, tasks: extra?.tasks ?? 0, error: extra?.error };
}
