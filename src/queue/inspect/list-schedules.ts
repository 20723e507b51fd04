import type { StoredEnqueueOptions } from '../../domain/enqueue-options.ts';
import type { Overlap } from '../../domain/schedule/definition.ts';
import type { Missed } from '../../domain/schedule/missed-policy.ts';
import type { TaskStatus } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';

/** A schedule. Times are ISO 8601. */
export interface ListedSchedule {
  readonly name: string;
  readonly expression: string;
  readonly tz: string;
  readonly type: string;
  readonly payload: unknown;
  /** The options of its tasks. */
  readonly task_options: StoredEnqueueOptions;
  readonly missed: Missed;
  readonly overlap: Overlap;
  readonly jitter_ms: number;
  /** The tick that fires next; null: not computed yet; `infinity`: there is none. */
  readonly next_at: string | null;
  /** Null: not paused. */
  readonly paused_at: string | null;
  readonly paused_by: string | null;
  readonly pause_reason: string | null;
  readonly last_tick: string | null;
  /** The task of the last tick, or the one that held the key of the schedule. */
  readonly last_task_id: string | null;
  /** Null: that task is gone. */
  readonly last_status: TaskStatus | null;
  readonly last_fired_at: string | null;
  /** Why the last tick has no task; null: it has one, or that of an earlier tick is live. */
  readonly last_error: string | null;
  readonly created_at: string;
  readonly changed_at: string;
  readonly changed_by: string;
}

export interface ListSchedulesOptions {
  /** Only those after this name. */
  readonly after?: string;
  readonly limit?: number;
  /** This one alone. */
  readonly name?: string;
}

/** List the schedules by name. */
export async function listSchedules(
  db: Queryable,
  { after = '', limit = 100, name }: ListSchedulesOptions = {},
): Promise<ListedSchedule[]> {
  const rows = await db.query<{ found: ListedSchedule }>({
    text: `select to_jsonb(s) - 'extra' || jsonb_build_object('last_task_id', s.last_task_id::text) as found
      from taskq.list_schedules($1, $2, $3) as s`,
    values: [after, limit, JSON.stringify({ name })],
  });
  return rows.map(({ found }) => found);
}
