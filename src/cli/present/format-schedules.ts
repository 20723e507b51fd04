import type { ListedSchedule } from '../../queue/inspect/list-schedules.ts';
import type { Screen } from '../run/output.ts';
import { formatTable } from './table.ts';
import { relativeTime } from './times.ts';

/** A table of schedules; empty when there are none. */
export function formatSchedules(schedules: readonly ListedSchedule[], screen: Screen): string {
  if (schedules.length === 0) return '';
  return formatTable<ListedSchedule>(
    [
      { title: 'NAME', cell: ({ name }) => name, shrinksTo: 10 },
      { title: 'EXPRESSION', cell: ({ expression }) => expression, shrinksTo: 12 },
      { title: 'TIME ZONE', leaves: 2, cell: ({ tz }) => tz },
      { title: 'TYPE', cell: ({ type }) => type, shrinksTo: 8 },
      {
        title: 'NEXT',
        cell: (schedule) => nextText(schedule, screen.now),
        paint: (text, { paused_at }) => (paused_at === null ? text : screen.paint.yellow(text)),
      },
      { title: 'LAST', leaves: 3, cell: ({ last_tick }) => relativeTime(last_tick, screen.now) || '-' },
      { title: 'TASK', leaves: 1, cell: ({ last_task_id }) => last_task_id ?? '-' },
      {
        title: 'STATUS',
        leaves: 4,
        // The outcome of the last tick: the task may be that of an earlier one.
        cell: ({ last_status, last_error }) => (last_error === null ? (last_status ?? '-') : 'not replaced'),
        paint: (text, { last_status, last_error }) =>
          last_status === 'dead' || last_error !== null ? screen.paint.red(text) : text,
      },
    ],
    schedules,
    screen,
  );
}

/** When it fires next, in a few words. */
export function nextText({ next_at, paused_at }: ListedSchedule, now: number): string {
  if (paused_at !== null) return 'paused';
  if (next_at === null) return 'soon';
  return next_at === 'infinity' ? 'never' : Date.parse(next_at) <= now ? 'due' : relativeTime(next_at, now);
}
