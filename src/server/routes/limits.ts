import { QUEUE_SETTINGS } from '../../domain/setting-tables.ts';
import { type ListedQueue, listQueues } from '../../queue/inspect/list-queues.ts';
import { setQueue } from '../../queue/operate/set-queue.ts';
import { answers200 } from '../answers.ts';
import { maySee } from '../caller.ts';
import { camel } from '../camel.ts';
import { ok, type Route } from '../route.ts';
import { listOf, record, ref } from '../schema.ts';
import { queueOf, shownQueue } from './queues.ts';
import { changesIn, settingsInput } from './settings.ts';

const { maxRunning, rate, burst, groupLimit, groupRate, groupBurst } = QUEUE_SETTINGS;

/** The settings of a queue that limit how many of its tasks run or start. */
const LIMITS = { maxRunning, rate, burst, groupLimit, groupRate, groupBurst };

const list: Route = {
  method: 'GET',
  path: '/limits',
  role: 'viewer',
  summary: 'List the limits of the queues that have any. A group may have its own, too: see its queue.',
  answers: answers200('The limits', record({ limits: listOf(ref('Limits')) })),
  async handle({ db, caller }) {
    const queues = (await listQueues(db, { countMs: 0 })).filter(({ name }) => maySee(caller, name));
    return ok({ limits: queues.filter(isLimited).map(limitsOf) });
  },
};

const show: Route = {
  method: 'GET',
  path: '/limits/{queue}',
  role: 'viewer',
  mayTakeLong: true,
  summary: 'Show the limits of a queue.',
  answers: answers200('The limits', ref('Limits')),
  async handle(call) {
    return ok(limitsOf(await shownQueue(call)));
  },
};

const set: Route = {
  method: 'PATCH',
  path: '/limits/{queue}',
  role: 'admin',
  summary: 'Change the limits of a queue; null removes one, others stay.',
  body: settingsInput(LIMITS),
  answers: answers200('The limits', ref('Limits')),
  async handle(call) {
    await setQueue(call.db, queueOf(call), changesIn(LIMITS, call.body), call.acting);
    return ok(limitsOf(await shownQueue(call)));
  },
};

function limitsOf(queue: ListedQueue): object {
  const columns = Object.values(LIMITS).map(({ column }) => column);
  return camel({
    queue: queue.name,
    ...Object.fromEntries(columns.map((column) => [column, queue[column]])),
  });
}

function isLimited({ max_running, rate, group_limit, group_rate }: ListedQueue): boolean {
  return [max_running, rate, group_limit, group_rate].some((limit) => limit !== null);
}

export const LIMIT_ROUTES: readonly Route[] = [list, show, set];
