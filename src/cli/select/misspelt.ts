import type { Database } from '../../lib/database.ts';
import { nearest } from '../../lib/nearest.ts';
import { listQueues } from '../../queue/inspect/list-queues.ts';
import type { TaskFilter } from '../../queue/inspect/task-filter.ts';
import { knownTypes } from '../../queue/protocol/known-types.ts';
import { printable } from '../present/printable.ts';

/**
 * Lines for a filter that selected nothing: `type "send-emial" is not known: did you mean "send-email"?`. Empty where
 * its type and queue are known, or nothing near is.
 */
export async function misspelt(db: Database, { type, queue }: TaskFilter): Promise<string[]> {
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
