import { countOf } from '../../lib/count.ts';
import type { AuditRow } from '../../queue/inspect/list-audit.ts';
import type { Screen } from '../run/output.ts';
import { formatTable } from './table.ts';
import { localTime } from './times.ts';

/** A table of what people did; empty when there is nothing. */
export function formatAudit(actions: readonly AuditRow[], screen: Screen): string {
  if (actions.length === 0) return '';
  return formatTable<AuditRow>(
    [
      { title: 'AT', cell: ({ at }) => localTime(at) },
      { title: 'VERB', cell: ({ verb }) => verb },
      { title: 'WHO', cell: ({ role, by }) => (by === null ? role : `${by} (${role})`), shrinksTo: 12 },
      { title: 'VIA', cell: ({ via }) => via ?? '', shrinksTo: 8 },
      { title: 'WHAT', cell: objectOf, shrinksTo: 12 },
      { title: 'CHANGE', cell: changeOf, shrinksTo: 12 },
      { title: 'REASON', cell: ({ reason }) => reason ?? '', shrinksTo: 10 },
    ],
    actions,
    screen,
  );
}

function objectOf({ task_ids: ids, queue, type, worker }: AuditRow): string {
  if (ids !== null && ids.length > 0)
    return ids.length === 1 ? `task ${ids[0]}` : countOf(ids.length, 'task');
  if (queue !== null) return `queue ${queue}`;
  if (type !== null) return `type ${type}`;
  return worker === null ? '' : `worker ${worker}`;
}

/** The filter that chose the tasks, or each setting with its value before, where it had one. */
function changeOf({ filter, settings, before }: AuditRow): string {
  if (filter !== null) return JSON.stringify(filter);
  if (settings === null) return '';
  const old = (before ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(settings)
    .map(([name, value]) => {
      const from = (old[name] ?? null) === null ? '' : `${textOf(old[name])} → `;
      return `${name} ${from}${textOf(value)}`;
    })
    .join(', ');
}

function textOf(value: unknown): string {
  if (value === null) return 'default';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
