import type { Queryable } from '../../lib/database.ts';

/** What happened to tasks over time, as `taskq.get_series` returns it; times are ISO 8601. */
export interface Series {
  readonly from: string;
  readonly until: string;
  readonly step_ms: number;
  /** One for each step, the earliest first. */
  readonly points: readonly SeriesPoint[];
}

export interface SeriesPoint
  extends Readonly<Record<'created' | 'revived' | 'completed' | 'cancelled' | 'expired' | 'dead', number>> {
  /** The beginning of the step. */
  readonly at: string;
  readonly attempts: Readonly<Record<'succeeded' | 'failed' | 'snoozed' | 'lost', number>>;
  /** Of the attempts that ended; null: none did. */
  readonly wait_ms: Percentiles | null;
  readonly run_ms: Percentiles | null;
}

export type Percentiles = Readonly<Record<'p50' | 'p95', number>>;

export interface SeriesFilter {
  readonly sinceMs: number;
  /** ISO 8601; null: now. */
  readonly until: string | null;
  readonly queue: string | null;
  readonly type: string | null;
  /** Only these queues, as names in which `*` stands for any text; null: all. */
  readonly queues: readonly string[] | null;
}

/** Get what happened, in at most 360 steps. It reads no task. */
export async function getSeries(
  db: Queryable,
  { sinceMs, until, queue, type, queues }: SeriesFilter,
): Promise<Series> {
  const rows = await db.query<{ series: Series }>({
    text: 'select taskq.get_series($1, $2, $3, $4, $5) as series',
    values: [sinceMs, until, queue, type, queues],
  });
  return rows[0]!.series;
}
