import { countOf, withCommas } from '../../lib/count.ts';
import { formatDuration } from '../../lib/duration.ts';
import { wrapText } from '../../lib/wrap.ts';
import type { QueueStats, Stalled, Stats, TypeStats } from '../../queue/inspect/stats.ts';
import type { Screen } from '../run/output.ts';
import { obstacleText } from './obstacle-text.ts';
import { printable } from './printable.ts';
import { shellWord } from './shell-word.ts';
import { type Column, formatTable } from './table.ts';
import { roughly } from './times.ts';

/** Two tables, by queue and by type, and a line for each anomaly. */
export function formatStats(stats: Stats, sinceMs: number, screen: Screen): string {
  const window = formatDuration(sinceMs);
  // Both tables have some of the same columns.
  const of = (table: string): Screen => ({
    ...screen,
    leftOut: (titles) => screen.leftOut(titles.map((title) => `${title} (${table})`)),
  });
  const parts = [
    ...(stats.queues.length > 0
      ? [formatTable(queueColumns(stats.queues, screen), stats.queues, of('queues'))]
      : []),
    ...(stats.types.length > 0 ? [formatTable(typeColumns(screen), stats.types, of('types'))] : []),
    summaryOf(stats, window, screen),
  ];
  return parts.join('\n\n');
}

const STATUSES = ['blocked', 'pending', 'leased', 'running', 'dead'] as const;
/** Show a column for these rare statuses only when a task has one. */
const RARE: readonly string[] = ['blocked', 'leased'];

function queueColumns(queues: readonly QueueStats[], { paint }: Screen): Column<QueueStats>[] {
  const shown = STATUSES.filter(
    (status) => !RARE.includes(status) || queues.some(({ counts }) => counts[status]),
  );
  return [
    { title: 'QUEUE', cell: ({ queue, paused }) => (paused ? `${queue} (paused)` : queue), shrinksTo: 16 },
    ...shown.map(
      (status): Column<QueueStats> => ({
        title: status.toUpperCase(),
        cell: ({ counts }) => withCommas(counts[status]),
        align: 'right',
        ...(status === 'dead' && { paint: (text, { counts }) => (counts.dead ? paint.red(text) : text) }),
      }),
    ),
    { title: 'DUE', cell: ({ due }) => withCommas(due), align: 'right' },
    {
      title: 'OLDEST',
      leaves: 4,
      cell: ({ oldest_waiting_ms: ms }) => (ms === null ? '-' : roughly(ms)),
      align: 'right',
    },
    { title: 'RETRYING', leaves: 3, cell: ({ retrying }) => withCommas(retrying), align: 'right' },
    { title: 'COMPLETED', leaves: 5, cell: ({ ended }) => withCommas(ended.completed), align: 'right' },
    { title: 'CANCELLED', leaves: 2, cell: ({ ended }) => withCommas(ended.cancelled), align: 'right' },
    { title: 'EXPIRED', leaves: 1, cell: ({ ended }) => withCommas(ended.expired), align: 'right' },
  ];
}

function typeColumns({ paint }: Screen): Column<TypeStats>[] {
  return [
    { title: 'TYPE', cell: ({ type }) => type, shrinksTo: 12 },
    { title: 'LIVE', cell: ({ live }) => withCommas(live), align: 'right' },
    { title: 'DUE', cell: ({ due }) => withCommas(due), align: 'right' },
    {
      title: 'DEAD',
      cell: ({ dead }) => withCommas(dead),
      align: 'right',
      paint: (text, { dead }) => (dead ? paint.red(text) : text),
    },
    { title: 'COMPLETED', leaves: 5, cell: ({ completed }) => withCommas(completed), align: 'right' },
    { title: 'CANCELLED', leaves: 2, cell: ({ cancelled }) => withCommas(cancelled), align: 'right' },
    { title: 'EXPIRED', leaves: 1, cell: ({ expired }) => withCommas(expired), align: 'right' },
    {
      title: 'AVERAGE',
      leaves: 3,
      cell: ({ average_ms: ms }) => (ms === null ? '-' : roughly(ms)),
      align: 'right',
    },
    {
      title: 'HANDLED',
      cell: ({ handled }) => (handled ? 'yes' : 'no'),
      paint: (text, { handled, live }) => (!handled && live ? paint.yellow(text) : text),
    },
  ];
}

function summaryOf(stats: Stats, window: string, { paint, columns }: Screen): string {
  const oldest =
    stats.oldest_waiting_ms === null ? '' : `, the oldest for ${roughly(stats.oldest_waiting_ms)}`;
  const canRun =
    stats.depth === stats.due || stats.workers === 0 ? '' : `, ${withCommas(stats.depth)} of them can run`;
  const rate =
    stats.completed === 0 ? '' : ` (${stats.completed_per_minute} a minute since the first of them started)`;
  const lines = [
    `${countOf(stats.due, 'task')} due${canRun}${oldest}; ${withCommas(stats.completed)} completed in the last ${window}${rate}; ${countOf(stats.workers, 'worker')}`,
    ...obstacles(stats).map((reason) => paint.yellow(reason)),
    ...(stats.types.length === 0
      ? []
      : [
          paint.dim(
            `COMPLETED, CANCELLED, EXPIRED and AVERAGE (run time): of the last ${window} (--since); - is no value`,
          ),
        ]),
  ];
  return lines.map((line) => (columns === null ? line : wrapText(line, columns, 2))).join('\n');
}

/**
 * Why due tasks do not run, with how many; queues whose limits keep tasks waiting; the types of future tasks that no
 * worker handles; and those whose handlers run past their timeout.
 */
function obstacles({ stalled, unhandled_types, queues, types, workers }: Stats): string[] {
  const due = new Map<string, number>();
  for (const one of stalled) {
    const reason = stalledText(one);
    due.set(reason, (due.get(reason) ?? 0) + one.due);
  }
  const named = new Set(stalled.flatMap(({ type, reason }) => (reason === 'type_unhandled' ? type : [])));
  const later = workers === 0 ? [] : unhandled_types.filter((type) => !named.has(type));
  return [
    ...[...due].map(([reason, count]) => `${reason}: ${countOf(count, 'task')} due`),
    ...later.map((type) => obstacleText({ queue: '', type, reason: 'type_unhandled', worker: null })),
    ...queues.flatMap((queue) => limitText(queue, stalled)),
    ...types.filter(({ timed_out }) => timed_out > 0).map(timedOutText),
  ];
}

function isStopped(reason: Stalled['reason']): reason is 'group_paused' | 'group_held' {
  return reason === 'group_paused' || reason === 'group_held';
}

function stalledText({ reason, group, ...due }: Stalled): string {
  if (!isStopped(reason)) return obstacleText({ ...due, reason });
  const queue = printable(due.queue);
  if (group === null) {
    const are = reason === 'group_paused' ? 'are paused' : 'wait at a dead letter';
    return `groups of queue ${queue} ${are}: see taskq groups list ${shellWord(due.queue)} --stopped`;
  }
  const is = reason === 'group_paused' ? 'is paused' : 'waits at a dead letter';
  const command = `taskq groups show ${shellWord(due.queue)} ${shellWord(group)}`;
  return `group ${printable(group)} of queue ${queue} ${is}: see ${command}`;
}

function limitText({ queue, limited_by, due }: QueueStats, stalled: readonly Stalled[]): string[] {
  const stopped = stalled.filter((one) => one.queue === queue && isStopped(one.reason));
  const waiting = due - stopped.reduce((sum, one) => sum + one.due, 0);
  if (limited_by === null || waiting <= 0) return [];
  const what =
    limited_by === 'rate'
      ? 'waits until its rate allows the next start'
      : 'runs as many tasks as its limit allows';
  return [`queue ${printable(queue)} ${what}: ${countOf(waiting, 'task')} due`];
}

function timedOutText({ type, timed_out }: TypeStats): string {
  return `the handler of ${printable(type)} runs past its timeout: ${countOf(timed_out, 'task')}`;
}
