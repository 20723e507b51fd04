import { checkedName } from '../../domain/names.ts';
import { listGroups } from '../../queue/inspect/list-groups.ts';
import { type ListedQueue, listQueues } from '../../queue/inspect/list-queues.ts';
import { AFTER, answers200, LIMIT, limitOf } from '../answers.ts';
import { type Caller, maySee } from '../caller.ts';
import { camel, camelWithSources } from '../camel.ts';
import { notFound, Problem } from '../problem.ts';
import { type Call, ok, type Route } from '../route.ts';
import { listOf, record, ref } from '../schema.ts';
import { pageOf } from '../schemas.ts';
import { COUNT_MS } from '../stats-body.ts';

const list: Route = {
  method: 'GET',
  path: '/queues',
  role: 'viewer',
  mayTakeLong: true,
  summary: 'List the queues that have a live task, a dead letter in the last sample, a setting or a pause.',
  answers: answers200('The queues', record({ queues: listOf(ref('Queue')) })),
  async handle({ db, caller }) {
    const queues = await listQueues(db, { countMs: COUNT_MS });
    return ok({ queues: queues.filter(({ name }) => maySee(caller, name)).map(camelWithSources) });
  },
};

const show: Route = {
  method: 'GET',
  path: '/queues/{queue}',
  role: 'viewer',
  mayTakeLong: true,
  summary: 'Show a queue: its settings, its pause, and how many tasks wait.',
  answers: answers200('The queue', ref('Queue')),
  async handle(call) {
    return ok(camelWithSources(await shownQueue(call)));
  },
};

const groups: Route = {
  method: 'GET',
  path: '/queues/{queue}/groups',
  role: 'viewer',
  mayTakeLong: true,
  summary: 'List the groups of a queue that have a live task, a setting or a pause.',
  query: { limit: LIMIT, after: AFTER },
  answers: answers200('A page', pageOf('groups', 'Group')),
  async handle(call) {
    const limit = limitOf(call.query);
    const { after } = call.query;
    const found = await listGroups(call.db, queueOf(call), { limit, ...(after !== undefined && { after }) });
    return ok({ groups: found.map(camel), after: found.length < limit ? null : found.at(-1)!.name });
  },
};

/** The queue of a path. Throws Problem: the caller's token is for others. */
export function queueOf({ path, caller }: Call): string {
  return visibleQueue(caller, checkedName('queue', path.queue));
}

/** Returns the name of a queue. Throws Problem: the caller's token is for others. */
export function visibleQueue(caller: Caller, name: string): string {
  if (maySee(caller, name)) return name;
  throw new Problem('other_queue', { detail: `the token is not for queue ${JSON.stringify(name)}` });
}

/** The queue of a path as it is listed. Throws Problem. */
export async function shownQueue(call: Call): Promise<ListedQueue> {
  const [queue] = await listQueues(call.db, { name: queueOf(call), countMs: COUNT_MS });
  if (queue === undefined) throw notFound('such queue');
  return queue;
}

export const QUEUE_READS: readonly Route[] = [list, show, groups];
