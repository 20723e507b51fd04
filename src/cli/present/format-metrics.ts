import { withCommas } from '../../lib/count.ts';
import type { Metrics } from '../../queue/inspect/list-metrics.ts';
import type { Screen } from '../run/output.ts';
import { formatTable } from './table.ts';
import { localTime, roughly } from './times.ts';

/** A table of what happened by minute or by day; empty when nothing did. */
export function formatMetrics(metrics: readonly Metrics[], screen: Screen): string {
  if (metrics.length === 0) return '';
  return formatTable<Metrics>(
    [
      {
        title: 'SINCE',
        cell: ({ span, since }) => (span === 'day' ? since.slice(0, 10) : localTime(since)),
      },
      { title: 'QUEUE', cell: ({ queue }) => queue, shrinksTo: 8 },
      { title: 'TYPE', cell: ({ type }) => type, shrinksTo: 8 },
      { title: 'CREATED', cell: ({ tasks_created: tasks }) => withCommas(tasks), align: 'right' },
      { title: 'COMPLETED', cell: ({ tasks_completed: tasks }) => withCommas(tasks), align: 'right' },
      { title: 'FAILED', cell: ({ tasks_failed: tasks }) => withCommas(tasks), align: 'right' },
      { title: 'LATENCY', cell: ({ average_latency: ms }) => time(ms), align: 'right', leaves: 2 },
      { title: 'ERRORS', cell: ({ error_rates_per_agent: rate }) => percent(rate), align: 'right' },
      { title: 'HEARTBEAT', cell: ({ worker_heartbeat_delay: ms }) => time(ms), align: 'right', leaves: 1 },
    ],
    metrics,
    screen,
  );
}

function time(ms: number | null): string {
  return ms === null ? '-' : roughly(ms);
}

function percent(rate: number | null): string {
  return rate === null ? '-' : `${Math.round(rate * 1000) / 10} %`;
}
