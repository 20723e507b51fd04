import type { Database } from '../../lib/database.ts';
import { didYouMean, nearest } from '../../lib/nearest.ts';
import { hasHadTasks } from '../../queue/inspect/has-had-tasks.ts';
import { listQueues } from '../../queue/inspect/list-queues.ts';
import { knownTypes } from '../../queue/protocol/known-types.ts';
import { findHandlerFiles } from '../../worker/handlers/find-handlers.ts';
import { printable } from '../present/printable.ts';
import type { Context } from '../run/context.ts';
import type { Output } from '../run/output.ts';

/** The answer if no task was found, or none that the verb acts on. */
export const NO_TASK_MATCHES = 'no task matches';

/** What of a filter may be misspelt. */
interface Named {
  readonly type?: string | undefined;
  readonly queue?: string | undefined;
}

/**
 * Name what may be misspelt in a filter that matched nothing: `type "send-emial" is not known: did you mean
 * "send-email"?`. Prints nothing if its type and queue are known, if no known name is near, or with --json.
 */
export async function noteMisspelt({ format, talk }: Output, db: Database, filter: Named): Promise<void> {
  if (format === 'json') return;
  for (const line of await misspelt(db, filter)) talk(line);
}

async function misspelt(db: Database, { type, queue }: Named): Promise<string[]> {
  return [
    ...(type === undefined ? [] : lineFor('type', type, await knownTypes(db))),
    ...(queue === undefined ? [] : lineFor('queue', queue, await knownQueues(db))),
  ];
}

function lineFor(what: string, name: string, known: readonly string[]): string[] {
  if (known.includes(name)) return [];
  const near = nearest(name, known).map((other) => JSON.stringify(other));
  return near.length === 0
    ? []
    : [printable(`${what} ${JSON.stringify(name)} is not known: did you mean ${near.join(' or ')}?`)];
}

/** The queues, among these, that have no live task, setting or pause. */
export async function unknownQueues(db: Database, names: readonly string[]): Promise<string[]> {
  const known = await knownQueues(db);
  return [...new Set(names)].filter((name) => !known.includes(name));
}

/**
 * Note unknown queues that have never had tasks, with the nearest known ones: a queue needs no declaration, so any name
 * is accepted.
 */
export async function noteUnusedQueues(
  { talk }: Output,
  db: Database,
  unknown: readonly string[],
): Promise<void> {
  for (const name of unknown) {
    if (name === DEFAULT_QUEUE || (await hasHadTasks(db, name)) !== false) continue;
    const others = (await knownQueues(db)).filter((other) => !unknown.includes(other));
    talk(printable(`queue ${JSON.stringify(name)} has had no tasks so far${didYouMean(name, others)}`));
  }
}

async function knownQueues(db: Database): Promise<string[]> {
  return [DEFAULT_QUEUE, ...(await listQueues(db, { countMs: 0 })).map(({ name }) => name)];
}

/** The queue of tasks that are enqueued without one. */
const DEFAULT_QUEUE = 'default';

/** The types that enqueue accepts: those of the handlers here, and those that the database knows. */
export async function acceptedTypes(context: Context): Promise<string[]> {
  const { values } = await context.config();
  const files = await findHandlerFiles(values.handlers);
  return [...files.keys(), ...(await knownTypes(await context.database()))];
}

/** The note for a type that a verb made known, with the nearest of the types accepted before. */
export function newTypeNote(name: string, accepted: readonly string[]): string {
  const hint = didYouMean(name, accepted);
  return printable(`type ${JSON.stringify(name)} is new${hint}; taskq types remove ${name} forgets it`);
}
