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
      { title: 'VIA', leaves: 1, cell: ({ via }) => via ?? '-', shrinksTo: 8 },
      { title: 'WHAT', cell: objectOf, shrinksTo: 12 },
      { title: 'CHANGE', leaves: 2, cell: changeOf, shrinksTo: 12 },
      { title: 'REASON', leaves: 3, cell: ({ reason }) => reason ?? '-', shrinksTo: 10 },
    ],
    actions,
    screen,
  );
}

function objectOf({ task_ids: ids, queue, type, worker, settings }: AuditRow): string {
  const named = NAMED.find((kind) => settings?.[kind] !== undefined);
  if (named !== undefined) return `${named} ${textOf(settings![named])}`;
  if (ids !== null && ids.length > 0)
    return ids.length === 1 ? `task ${ids[0]}` : countOf(ids.length, 'task');
  if (queue !== null) return `queue ${queue}`;
  if (type !== null) return `type ${type}`;
  return worker === null ? '' : `worker ${worker}`;
}

/** The filter that chose the tasks, and each setting with its value before, where it had one. */
function changeOf({ filter, settings, before, task_ids: ids }: AuditRow): string {
  const set = Object.entries(settings ?? {}).filter(([name]) => !NAMED.includes(name));
  const changes = set.map(([name, value]) => {
    const old = oldOf(before, ids)[name] ?? null;
    return `${name} ${old === null ? '' : `${textOf(old)} → `}${textOf(value)}`;
  });
  return [...(filter === null ? [] : [`of ${JSON.stringify(filter)}`]), ...changes].join(', ') || '-';
}

/** The settings of an action that name its object. */
const NAMED = ['workflow', 'schedule'];

/** The old values; for tasks, stored by id, and shown only if there is one. */
function oldOf(before: AuditRow['before'], ids: AuditRow['task_ids']): Readonly<Record<string, unknown>> {
  const old = (before ?? {}) as Readonly<Record<string, unknown>>;
  if (ids === null) return old;
  return ids.length === 1 ? ((old[ids[0]!] ?? {}) as typeof old) : {};
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

function textOf(value: unknown): string {
  if (value === null) return 'default';
  if (typeof value !== 'string') return JSON.stringify(value);
  return ISO_TIME.test(value) ? localTime(value) : value;
}
