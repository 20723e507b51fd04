import type { ListedWorker } from '../../queue/inspect/list-workers.ts';
import type { Paint, Screen } from '../run/output.ts';
import { durationText } from './settings-text.ts';
import { formatTable } from './table.ts';
import { relativeTime } from './times.ts';

/** A table of workers; empty when there are none. */
export function formatWorkers(workers: readonly ListedWorker[], screen: Screen): string {
  if (workers.length === 0) return '';
  return formatTable<ListedWorker>(
    [
      { title: 'ID', cell: ({ id }) => id, align: 'right' },
      { title: 'WORKER', cell: ({ given_name, name }) => given_name ?? name, shrinksTo: 16 },
      {
        title: 'STATUS',
        shrinksTo: 48,
        cell: (worker) => `${statusText(worker, screen.now)}${timedOutText(worker)}`,
        paint: (text, worker) => paintStatus(worker, text, screen.paint),
      },
      { title: 'RUNS', leaves: 8, cell: runsOf, align: 'right' },
      {
        title: 'AHEAD',
        leaves: 7,
        cell: ({ ahead, stopped_at }) => (stopped_at === null ? String(ahead) : '-'),
        align: 'right',
      },
      { title: 'POLL', leaves: 2, cell: ({ poll_ms }) => durationText(poll_ms), align: 'right' },
      { title: 'QUEUES', leaves: 6, cell: ({ queues }) => queues?.join(',') ?? '(every)', shrinksTo: 8 },
      { title: 'TYPES', leaves: 5, cell: ({ types }) => types.join(','), shrinksTo: 8 },
      { title: 'STARTED', leaves: 3, cell: ({ started_at }) => relativeTime(started_at, screen.now) },
      { title: 'HEARTBEAT', leaves: 4, cell: ({ heartbeat_at }) => relativeTime(heartbeat_at, screen.now) },
      { title: 'VERSION', leaves: 1, cell: ({ version }) => version ?? '-' },
    ],
    workers,
    screen,
  );
}

function runsOf({ running, concurrency, stopped_at }: ListedWorker): string {
  return stopped_at === null ? `${running}/${concurrency}` : '-';
}

/** The status, with who requested it and when, if anyone did. */
function statusText(worker: ListedWorker, now: number): string {
  switch (worker.status) {
    case 'paused':
      return `paused ${relativeTime(worker.paused_at, now)}${by(worker.paused_by)}`;
    case 'stopping':
      if (worker.stop_requested_by === null)
        return `stopping, began ${relativeTime(worker.stop_requested_at, now)}`;
      return `stopping, asked ${relativeTime(worker.stop_requested_at, now)}${by(worker.stop_requested_by)}`;
    case 'stopped':
      return `stopped ${relativeTime(worker.stopped_at, now)}`;
    case 'live':
    case 'silent':
    case 'lost':
      return worker.status;
    default:
      return worker.status satisfies never;
  }
}

/** Handlers that still run past their timeout, each in a slot. */
function timedOutText({ timed_out: count }: ListedWorker): string {
  return count === 0 ? '' : `, ${count} timed out`;
}

function by(who: string | null): string {
  return who === null ? '' : ` by ${who}`;
}

function paintStatus({ status, timed_out }: ListedWorker, text: string, paint: Paint): string {
  if (status === 'live') return timed_out > 0 ? paint.yellow(text) : paint.green(text);
  if (status === 'silent' || status === 'lost') return paint.red(text);
  return status === 'stopped' ? paint.dim(text) : paint.yellow(text);
}
