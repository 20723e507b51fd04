import { countOf, withCommas } from '../../lib/count.ts';
import { wrapText } from '../../lib/wrap.ts';
import type { GroupApplying, GroupHolder, ShownGroup } from '../../queue/inspect/show-group.ts';
import type { Screen } from '../run/output.ts';
import { causeText } from './cause-text.ts';
import { printable } from './printable.ts';
import { rateText } from './settings-text.ts';
import { localTime, relativeTime } from './times.ts';

/** Format a group as a record for people. */
export function formatGroup(group: ShownGroup, screen: Screen): string {
  const { paint, now, columns } = screen;
  const { name, queue, applies, stops, holders, next, holding, waiting, delayed } = group;
  const place = { queue, type: '' };
  const facts: [label: string, text: string][] = [
    ['queue', printable(queue)],
    ['limit', fromWhere(applies.limit, (limit) => (limit === null ? 'none' : countOf(limit, 'slot')))],
    ...(applies.rate.value === null ? [] : [['rate', rateFact(group, now)] as [string, string]]),
    ['order', fromWhere(applies.order, String)],
    ['on dead', fromWhere(applies.on_dead, String)],
    ...stops.map((stop): [string, string] => ['stopped', paint.yellow(causeText(stop, place, now))]),
    ['tasks', `${holding} with a slot, ${waiting} waiting for one, ${delayed} not due`],
  ];
  const text = [
    paint.bold(`group ${printable(name)}`),
    ...facts.map(([label, text]) => `  ${paint.dim(label.padEnd(LABEL_WIDTH))}  ${text}`),
    ...section('with a slot', holders, holding, (holder) => holderText(holder, now), screen),
    ...section(
      'next',
      next,
      waiting,
      ({ priority, created_at }) => `priority ${priority}, created ${relativeTime(created_at, now)}`,
      screen,
    ),
  ].join('\n');
  return columns === null ? text : wrapText(text, columns, 4);
}

const LABEL_WIDTH = 'on dead'.length;

function fromWhere<Value>({ value, from }: GroupApplying<Value>, textOf: (value: Value) => string): string {
  return from === 'defaults' ? `${textOf(value)} (default)` : `${textOf(value)} (${from})`;
}

function rateFact({ applies, rate, burst, next_slot_at }: ShownGroup, now: number): string {
  const next = next_slot_at === null ? '' : `, next slot ${relativeTime(next_slot_at, now)}`;
  return `${fromWhere(applies.rate, () => rateText(rate, burst) ?? 'none')}${next}`;
}

function holderText({ status, since, due }: GroupHolder, now: number): string {
  const at = (time: string) => `${localTime(time)} (${relativeTime(time, now)})`;
  if (since !== null) return `running since ${at(since)}`;
  if (due === null) return status;
  return Date.parse(due) <= now ? 'due' : `due ${at(due)}`;
}

function section<Task extends { readonly id: string; readonly type: string }>(
  title: string,
  tasks: readonly Task[],
  count: number,
  textOf: (task: Task) => string,
  { paint }: Screen,
): string[] {
  if (tasks.length === 0) return [];
  const width = Math.max(...tasks.map(({ id }) => id.length));
  return [
    `\n${paint.bold(title)}`,
    ...tasks.map((task) => `  ${task.id.padStart(width)}  ${printable(task.type)}  ${textOf(task)}`),
    ...(count > tasks.length ? [`  and ${withCommas(count - tasks.length)} more`] : []),
  ];
}
