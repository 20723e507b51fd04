import { type ListedWorker, listWorkers } from '../../queue/inspect/list-workers.ts';
import { AFTER, answers200, countOf, LIMIT, limitOf } from '../answers.ts';
import { camel } from '../camel.ts';
import { notFound } from '../problem.ts';
import { type Call, ok, type Route } from '../route.ts';
import { ref } from '../schema.ts';
import { pageOf } from '../schemas.ts';

const list: Route = {
  method: 'GET',
  path: '/workers',
  role: 'viewer',
  queues: 'all',
  summary: 'List the workers, newest first, as of their last heartbeats.',
  query: {
    all: { type: 'string', enum: ['true'], description: 'also those that ended in the last 40 days' },
    limit: LIMIT,
    after: AFTER,
  },
  answers: answers200('A page', pageOf('workers', 'Worker')),
  async handle({ query, db }) {
    const limit = limitOf(query);
    const after = query.after === undefined ? null : String(countOf('after', query.after, MOST_ID));
    const found = await listWorkers(db, query.all === 'true' ? { all: true } : {}, limit, after);
    return ok({ workers: found.map(camel), after: found.length < limit ? null : found.at(-1)!.id });
  },
};

const show: Route = {
  method: 'GET',
  path: '/workers/{worker}',
  role: 'viewer',
  queues: 'all',
  summary: 'Show a worker, by its id or its full name.',
  answers: answers200('The worker', ref('Worker')),
  async handle(call) {
    return ok(camel(await shownWorker(call)));
  },
};

const MOST_ID = 2 ** 31 - 1;

/** The worker of a path as it is listed. Throws Problem. */
export async function shownWorker({ path, db }: Call): Promise<ListedWorker> {
  const name = path.worker!;
  const found = await listWorkers(db, { name, all: true }, 100);
  // Several workers may have been given one name, after each other.
  const worker = found.find(({ status }) => status !== 'stopped' && status !== 'lost') ?? found[0];
  if (worker === undefined) throw notFound('such worker');
  return worker;
}

export const WORKER_READS: readonly Route[] = [list, show];
