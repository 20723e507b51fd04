import { stringifyExact } from '../../lib/exact-json.ts';
import type { TaskRow } from '../../queue/inspect/task-row.ts';
import type { Screen } from '../run/output.ts';
import { failedOf } from './format-task-list.ts';
import { formatTable } from './table.ts';
import { relativeTime } from './times.ts';

/** A table of dead letters; empty when there are none. */
export function formatDeadList(tasks: readonly TaskRow[], screen: Screen): string {
  if (tasks.length === 0) return '';
  return formatTable<TaskRow>(
    [
      { title: 'ID', cell: (task) => task.id, align: 'right' },
      { title: 'TYPE', cell: (task) => task.type, shrinksTo: 12 },
      { title: 'QUEUE', leaves: 1, cell: (task) => task.queue, shrinksTo: 8 },
      { title: 'ATTEMPTS', leaves: 2, cell: failedOf, align: 'right' },
      { title: 'REASON', cell: (task) => String(task.reason), shrinksTo: 12, paint: screen.paint.red },
      { title: 'ERROR', leaves: 4, cell: errorOf, shrinksTo: 16 },
      { title: 'PAYLOAD', leaves: 3, cell: (task) => cut(stringifyExact(task.payload)), shrinksTo: 10 },
      { title: 'DIED', leaves: 5, cell: (task) => relativeTime(task.finished_at as string, screen.now) },
    ],
    tasks,
    screen,
  );
}

function errorOf(task: TaskRow): string {
  const error = task.error as { name?: unknown; message?: unknown } | null;
  return error === null ? '-' : cut(`${String(error.name)}: ${String(error.message)}`);
}

/** A payload can have a megabyte, an error two thousand characters. */
function cut(text: string): string {
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL - 1).replace(/[\ud800-\udbff]$/, '')}…` : text;
}

const MAX_CELL = 80;
