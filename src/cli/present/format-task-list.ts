import { stringifyExact } from '../../lib/exact-json.ts';
import type { TaskRow } from '../../queue/inspect/task-row.ts';
import type { Paint, Screen } from '../run/output.ts';
import { formatTable } from './table.ts';
import { relativeTime } from './times.ts';

/** A table of tasks; empty when there are none. */
export function formatTaskList(tasks: readonly TaskRow[], screen: Screen): string {
  if (tasks.length === 0) return '';
  const time = (column: string) => (task: TaskRow) => relativeTime(task[column] as string | null, screen.now);
  return formatTable<TaskRow>(
    [
      { title: 'ID', cell: (task) => task.id, align: 'right' },
      { title: 'TYPE', cell: (task) => task.type, shrinksTo: 12 },
      ...(tasks.some(({ step }) => typeof step === 'string')
        ? [{ title: 'STEP', cell: ({ step }: TaskRow) => (step ?? '') as string, shrinksTo: 8 }]
        : []),
      { title: 'QUEUE', leaves: 3, cell: (task) => task.queue, shrinksTo: 8 },
      {
        title: 'STATUS',
        cell: (task) => task.status,
        paint: (text, task) => paintStatus(task.status, text, screen.paint),
      },
      { title: 'PRI', leaves: 1, cell: (task) => String(task.priority), align: 'right' },
      { title: 'FAILED', leaves: 4, cell: failedOf, align: 'right' },
      { title: 'CREATED', leaves: 2, cell: time('created_at') },
      { title: 'WHEN', leaves: 6, cell: (task) => whenOf(task, screen.now) },
      { title: 'PAYLOAD', leaves: 5, cell: (task) => stringifyExact(task.payload), shrinksTo: 10 },
    ],
    tasks,
    screen,
  );
}

/** `1/3`: the attempts used, of those allowed. */
export function failedOf({ attempts, applies }: TaskRow): string {
  return `${attempts}/${applies.max_attempts.value}`;
}

/** What happens to it next, or what happened last. */
function whenOf(task: TaskRow, now: number): string {
  const at = (column: string) => relativeTime(task[column] as string | null, now);
  if (hasExpired(task, now)) return `expired ${at('expires_at')}`;
  if (task.status === 'blocked')
    return task.available_at === null
      ? `for ${task.waits_for === 'parents' ? 'its parents' : 'a slot'}`
      : `due ${at('available_at')}`;
  if (task.status === 'pending')
    return Date.parse(String(task.available_at)) <= now ? 'due' : `due ${at('available_at')}`;
  if (isTimedOut(task, now)) return `timed out ${at('times_out_at')}`;
  if (task.status === 'running') return `started ${at('started_at')}`;
  return at('finished_at');
}

/** Whether it waits, but will never start: housekeeping ends it. */
function hasExpired({ status, started_at: startedAt, expires_at: at }: TaskRow, now: number): boolean {
  const isWaiting = status === 'pending' || status === 'blocked';
  return isWaiting && startedAt === null && typeof at === 'string' && Date.parse(at) <= now;
}

/** Whether its attempt has exceeded its timeout, and its handler has not ended. */
export function isTimedOut({ times_out_at: at }: TaskRow, now: number): boolean {
  return typeof at === 'string' && Date.parse(at) <= now;
}

export function paintStatus(status: string, text: string, paint: Paint): string {
  switch (status) {
    case 'completed':
      return paint.green(text);
    case 'dead':
      return paint.red(text);
    case 'running':
    case 'leased':
      return paint.cyan(text);
    case 'cancelled':
    case 'expired':
      return paint.yellow(text);
    default:
      return text;
  }
}
