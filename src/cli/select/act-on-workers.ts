import { EXIT, TaskqError } from '../../lib/errors.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { type ListedWorker, listWorkers } from '../../queue/inspect/list-workers.ts';
import { printable } from '../present/printable.ts';
import { relativeTime, roughly } from '../present/times.ts';
import type { Context } from '../run/context.ts';

/** The result of an order to a worker: what was done, or why nothing was. */
export interface Ordered {
  readonly answer: string;
  /** About the worker, as the end of a sentence. */
  readonly text: string;
}

/** Act on each named worker, by number or name, and print the results. Throws (exit 1) for an unknown one. */
export async function actOnWorkers(
  context: Context,
  names: readonly string[],
  act: (worker: ListedWorker) => Promise<Ordered>,
): Promise<number> {
  const workers = await findWorkers(context, names);
  const done: (Ordered & { readonly worker: ListedWorker })[] = [];
  for (const worker of workers) done.push({ worker, ...(await act(worker)) });
  const document = { workers: done.map(({ worker: { id, name }, answer }) => ({ id, name, answer })) };
  const isRefused = ({ answer }: Ordered) => answer === 'ended';
  const line = ({ worker: { id, name }, text }: (typeof done)[number]) =>
    `worker ${id} (${printable(name)}) ${text}`;
  await context.output.answer(document, () =>
    done
      .filter((ordered) => !isRefused(ordered))
      .map(line)
      .join('\n'),
  );
  const refused = done.filter(isRefused);
  if (context.output.format === 'text')
    for (const ordered of refused) context.output.complain(`taskq: ${line(ordered)}`);
  return refused.length === 0 ? EXIT.done : EXIT.failed;
}

/** The note for a worker that will not receive an order at once. */
export function delayNote({ status, heartbeat_at }: ListedWorker): string {
  if (status !== 'silent') return '';
  const silentFor = roughly(Date.now() - Date.parse(heartbeat_at));
  return `; it has been silent for ${silentFor} and will follow when it is back`;
}

/** The answer to every order to a worker that has ended. */
export function ended({ stopped_at }: ListedWorker): Ordered {
  return {
    answer: 'ended',
    text: `ended ${relativeTime(stopped_at ?? new Date().toISOString(), Date.now())}`,
  };
}

async function findWorkers(context: Context, names: readonly string[]): Promise<ListedWorker[]> {
  const db = await context.database();
  const found: ListedWorker[] = [];
  for (const name of new Set(names)) {
    const named = await listWorkers(db, { all: true, name }, 1000);
    if (named.length === 0) {
      const living = (await listWorkers(db, {}, 1000)).flatMap((other) => [
        other.given_name ?? other.name,
        other.name,
      ]);
      throw new TaskqError('no_such_worker', `no worker ${printable(name)}${didYouMean(name, living)}`, {
        hint: 'taskq workers --all lists all workers',
      });
    }
    // Workers may share a given name: it means all live ones, else the last one that had it.
    const alive = named.filter(({ stopped_at }) => stopped_at === null);
    found.push(...(alive.length > 0 ? alive : named.slice(0, 1)));
  }
  return [...new Map(found.map((worker) => [worker.id, worker])).values()];
}
