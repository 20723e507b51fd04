import { formatDuration } from '../../lib/duration.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { wrapText } from '../../lib/wrap.ts';
import type { ListedSchedule } from '../../queue/inspect/list-schedules.ts';
import type { Screen } from '../run/output.ts';
import { nextText } from './format-schedules.ts';
import { pauseText } from './pause-text.ts';
import { printable } from './printable.ts';
import { localTime, relativeTime } from './times.ts';

/** Format a schedule as a record for people. */
export function formatSchedule(schedule: ListedSchedule, { paint, now, columns }: Screen): string {
  const { name, expression, tz, type, payload, task_options, missed, overlap, jitter_ms } = schedule;
  const { next_at, paused_at, last_tick, last_task_id, last_status } = schedule;
  const at = (time: string) => `${localTime(time)} (${relativeTime(time, now)})`;
  const options = Object.keys(task_options).length === 0 ? 'none' : stringifyExact(task_options);
  const facts: [label: string, text: string][] = [
    ['expression', expression],
    ['time zone', printable(tz)],
    [
      'next',
      next_at !== null && next_at !== 'infinity' && paused_at === null
        ? at(next_at)
        : nextText(schedule, now),
    ],
    ...(paused_at === null
      ? []
      : [
          ['pause', paint.yellow(pauseText({ ...schedule, paused_at, paused_until: null }, now))] as [
            string,
            string,
          ],
        ]),
    ['type', printable(type)],
    ['payload', printable(stringifyExact(payload))],
    ['options', printable(options)],
    ['missed', missed],
    ['overlap', overlap],
    ['jitter', formatDuration(jitter_ms)],
    ['last tick', last_tick === null ? 'none' : at(last_tick)],
    ['last task', last_task_id === null ? 'none' : `${last_task_id} (${last_status ?? 'gone'})`],
    ...(schedule.last_error === null
      ? []
      : [['error', paint.red(printable(schedule.last_error))] as [string, string]]),
    ['set by', `${printable(schedule.changed_by)}, ${relativeTime(schedule.changed_at, now)}`],
  ];
  const text = [
    paint.bold(`schedule ${printable(name)}`),
    ...facts.map(([label, text]) => `  ${paint.dim(label.padEnd(LABEL_WIDTH))}  ${text}`),
  ].join('\n');
  return columns === null ? text : wrapText(text, columns, 4);
}

const LABEL_WIDTH = 'expression'.length;
