import type { Database } from '../../lib/database.ts';
import { nearest } from '../../lib/nearest.ts';
import { listQueues } from '../../queue/inspect/list-queues.ts';
import type { TaskFilter } from '../../queue/inspect/task-filter.ts';
import { knownTypes } from '../../queue/protocol/known-types.ts';
import { printable } from '../present/printable.ts';
import type { Output } from '../run/output.ts';

/** The answer where no task is found, or none that a verb acts on. */
export const NO_TASK_MATCHES = 'no task matches';

/**
 * Name what may be misspelt in a filter that matched nothing: `type "send-emial" is not known: did you mean
 * "send-email"?`. Say nothing where its type and queue are known, or nothing near is; nor with --json.
 */
export async function noteMisspelt(
  { format, talk }: Output,
  db: Database,
  filter: TaskFilter,
): Promise<void> {
  if (format === 'json') return;
  for (const line of await misspelt(db, filter)) talk(line);
}

async function misspelt(db: Database, { type, queue }: TaskFilter): Promise<string[]> {
  const lines: string[] = [];
  if (type !== undefined) lines.push(...lineFor('type', type, await knownTypes(db)));
  if (queue !== undefined)
    lines.push(
      ...lineFor(
        'queue',
        queue,
        (await listQueues(db)).map(({ name }) => name),
      ),
    );
  return lines;
}

function lineFor(what: string, name: string, known: readonly string[]): string[] {
  if (known.includes(name)) return [];
  const near = nearest(name, known).map((other) => JSON.stringify(other));
  return near.length === 0
    ? []
    : [printable(`${what} ${JSON.stringify(name)} is not known: did you mean ${near.join(' or ')}?`)];
}
