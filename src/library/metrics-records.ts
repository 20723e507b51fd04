import { checkedName } from '../domain/names.ts';
import { toDurationMs } from '../lib/duration.ts';
import type { Metrics, MetricsFilter } from '../queue/inspect/list-metrics.ts';
import { known, type Names } from './known-options.ts';

/** Selects metrics. */
export interface MetricsOptions {
  /** By minute (default), kept for 14 days, or by day of UTC, kept for 400. */
  readonly per?: 'minute' | 'day';
  /** Of this period up to now; default 1 hour, or 30 days. */
  readonly since?: string | number;
  /** Only this queue. */
  readonly queue?: string;
  /** Only this type. */
  readonly type?: string;
  /** Maximum number, the latest first; default 1000. */
  readonly limit?: number;
}

/** What happened to the tasks of a queue and type in a minute or a day. */
export interface MetricsRecord {
  /** The beginning of the minute or the day. */
  readonly since: Date;
  /** Its queue. */
  readonly queue: string;
  /** Its type. */
  readonly type: string;
  /** Tasks that were enqueued. */
  readonly created: number;
  /** Tasks that completed. */
  readonly completed: number;
  /** Tasks that became dead letters. */
  readonly failed: number;
  /** Mean milliseconds from when an attempt could start to its end; null: none ended. */
  readonly averageLatencyMs: number | null;
  /** The longest milliseconds since the last heartbeat of a live worker, whatever its queues; null: none was seen. */
  readonly heartbeatDelayMs: number | null;
  /** The share of attempts that failed or lost their worker, 0 to 1; null: there was none. */
  readonly errorRate: number | null;
}

const METRICS: Names<MetricsOptions> = { per: true, since: true, queue: true, type: true, limit: true };

/** Checks what an application selects. */
export function metricsFilter(options: MetricsOptions): MetricsFilter {
  const { per = 'minute', since, queue, type, limit } = known(options, METRICS);
  return {
    span: per,
    sinceMs: toDurationMs(since ?? (per === 'day' ? '30d' : '1h'), 'since'),
    queue: queue === undefined ? undefined : checkedName('queue', queue),
    type: type === undefined ? undefined : checkedName('type', type),
    limit: limit ?? 1000,
  };
}

/** Converts a row of `taskq.task_queue_metrics`. */
export function metricsRecordOf(row: Metrics): MetricsRecord {
  return {
    since: new Date(row.since),
    queue: row.queue,
    type: row.type,
    created: row.tasks_created,
    completed: row.tasks_completed,
    failed: row.tasks_failed,
    averageLatencyMs: row.average_latency,
    heartbeatDelayMs: row.worker_heartbeat_delay,
    errorRate: row.error_rates_per_agent,
  };
}
