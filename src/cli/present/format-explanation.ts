import { wrapText } from '../../lib/wrap.ts';
import type { Cause, Explanation } from '../../queue/inspect/explain-task.ts';
import type { Screen } from '../run/output.ts';
import { causeText } from './cause-text.ts';
import { paintStatus } from './format-task-list.ts';
import { printable } from './printable.ts';
import { localTime, relativeTime } from './times.ts';

/** Format an explanation for people: the task, and a line for each cause. */
export function formatExplanation(explanation: Explanation, screen: Screen): string {
  const { paint, columns, now } = screen;
  const { id, type, status, causes } = explanation;
  const width = Math.max(0, ...causes.map(({ cause }) => cause.length));
  return [
    `${paint.bold(`task ${id}`)}  ${printable(type)}  ${paintStatus(status, status, paint)}${startText(explanation, now)}`,
    ...(causes.length === 0 ? ['  nothing keeps it: a worker takes it with its next claim'] : []),
    ...causes.map((cause) => {
      const name = cause.cause.padEnd(width);
      const line = `  ${name}  ${causeText(cause, explanation, now)}`;
      const broken = columns === null ? line : wrapText(line, columns);
      return `  ${paint.dim(name)}${broken.slice(2 + width)}`;
    }),
    ...(status === 'dead'
      ? [`  its attempts: taskq dead show ${id}; to run it again: taskq dead revive ${id}`]
      : []),
  ].join('\n');
}

/** What other tasks have to give up for it, the first that applies. */
const WAITS: readonly (readonly [Cause<string>['cause'], string])[] = [
  ['group_full', 'a slot of its group'],
  ['max_running', 'others of its queue to end'],
  ['slots_busy', 'a slot of a worker'],
  ['behind', 'its turn'],
];

/** A held or ended task does not wait to start. */
function startText({ status, may_start_at: at, causes }: Explanation, now: number): string {
  if (status !== 'pending' && status !== 'blocked') return '';
  const has = (which: Cause<string>['cause']) => causes.some(({ cause }) => cause === which);
  if (has('expired')) return '  will not run';
  if (has('waiting_for_parents')) return '  waits for its parents';
  if (at === null) return causes.length === 0 ? '' : '  does not start until someone acts';
  const isNow = Date.parse(at) <= now;
  const time = `${localTime(at)} (${relativeTime(at, now)})`;
  const waits = WAITS.find(([cause]) => has(cause));
  if (waits !== undefined) return `  waits for ${waits[1]}${isNow ? '' : `, not before ${time}`}`;
  return isNow ? '  may start now' : `  may start at ${time}`;
}
