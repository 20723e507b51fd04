import type { Queryable } from '../../lib/database.ts';

/** A row of `taskq.task_queue_metrics`: what happened to the tasks of a queue and type in a minute or a day. */
export interface Metrics {
  readonly span: 'minute' | 'day';
  /** The beginning of the minute or the day (of UTC); ISO 8601. */
  readonly since: string;
  readonly queue: string;
  readonly type: string;
  readonly tasks_created: number;
  readonly tasks_completed: number;
  /** Tasks that became dead letters. */
  readonly tasks_failed: number;
  /** Mean milliseconds from when an attempt could start to its end; null: none ended. */
  readonly average_latency: number | null;
  /** The longest milliseconds since the last heartbeat of a live worker; null: none was seen. */
  readonly worker_heartbeat_delay: number | null;
  /** The share of attempts that failed or lost their worker; null: there was none. */
  readonly error_rates_per_agent: number | null;
}

export interface MetricsFilter {
  readonly span: 'minute' | 'day';
  /** Those of this period up to now. */
  readonly sinceMs: number;
  readonly queue?: string | undefined;
  readonly type?: string | undefined;
  readonly limit: number;
}

/** List what happened by minute or by day, the latest first. */
export async function listMetrics(
  db: Queryable,
  { span, sinceMs, queue, type, limit }: MetricsFilter,
): Promise<Metrics[]> {
  const rows = await db.query<{ metrics: Metrics }>({
    text: 'select to_jsonb(m) as metrics from taskq.list_metrics($1, $2, $3, $4, $5) as m',
    values: [span, sinceMs, limit, queue ?? null, type ?? null],
  });
  return rows.map(({ metrics }) => metrics);
}
