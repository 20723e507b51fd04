import { checkedName } from '../../domain/names.ts';
import { GROUP_SETTINGS, QUEUE_SETTINGS } from '../../domain/setting-tables.ts';
import { toPositiveMs } from '../../lib/duration.ts';
import { groupDetailsOf } from '../../library/group-records.ts';
import { showGroup } from '../../queue/inspect/show-group.ts';
import { pauseGroup, resumeGroup, setGroup } from '../../queue/operate/groups.ts';
import { pauseQueue, resumeQueue } from '../../queue/operate/pause-queue.ts';
import { setQueue } from '../../queue/operate/set-queue.ts';
import { answers200 } from '../answers.ts';
import { camelWithSources } from '../camel.ts';
import { type Call, ok, type Route } from '../route.ts';
import { DURATION, FLAG, input, MEMBERS, record, ref } from '../schema.ts';
import { queueOf, shownQueue } from './queues.ts';
import { changesIn, settingsInput } from './settings.ts';

const set: Route = {
  method: 'PATCH',
  path: '/queues/{queue}',
  role: 'admin',
  summary: 'Change settings for the tasks of a queue; null removes one, others stay.',
  body: settingsInput(QUEUE_SETTINGS),
  answers: answers200('The queue', ref('Queue')),
  async handle(call) {
    const { db, body, acting } = call;
    await setQueue(db, queueOf(call), changesIn(QUEUE_SETTINGS, body), acting);
    return ok(camelWithSources(await shownQueue(call)));
  },
};

const pause: Route = {
  method: 'POST',
  path: '/queues/{queue}/pause',
  role: 'operator',
  summary:
    'Start no more tasks of a queue, until it is resumed or `for` this long. Pausing again replaces the pause.',
  body: input({ for: DURATION }),
  answers: answers200('The queue', ref('Queue')),
  async handle(call) {
    const { db, body, acting } = call;
    const forMs = body.for === undefined ? null : toPositiveMs(body.for, 'for');
    await pauseQueue(db, queueOf(call), { forMs, ...acting });
    return ok(camelWithSources(await shownQueue(call)));
  },
};

const resume: Route = {
  method: 'POST',
  path: '/queues/{queue}/resume',
  role: 'operator',
  summary: 'Resume a queue. `resumed` is false if it was not paused.',
  body: input({}),
  answers: answers200('Whether it was paused', record({ resumed: FLAG })),
  async handle(call) {
    return ok({ resumed: await resumeQueue(call.db, queueOf(call), call.acting) });
  },
};

const GROUP = '/queues/{queue}/groups/{group}';

const group: Route = {
  method: 'GET',
  path: GROUP,
  role: 'viewer',
  summary: 'Show a group: its limits, what stops it, the tasks that have its slots and those that are next.',
  answers: answers200('The group', MEMBERS),
  async handle(call) {
    return ok(groupDetailsOf(await showGroup(call.db, queueOf(call), groupOf(call))));
  },
};

const limit: Route = {
  method: 'PATCH',
  path: GROUP,
  role: 'admin',
  summary: 'Change the limit and the rate of a group, overriding its queue; null removes one.',
  body: settingsInput(GROUP_SETTINGS),
  answers: answers200('The group', MEMBERS),
  async handle(call) {
    const [queue, name] = [queueOf(call), groupOf(call)];
    await setGroup(call.db, queue, name, changesIn(GROUP_SETTINGS, call.body), call.acting);
    return ok(groupDetailsOf(await showGroup(call.db, queue, name)));
  },
};

const stop: Route = {
  method: 'POST',
  path: `${GROUP}/pause`,
  role: 'operator',
  summary: 'Start no more tasks of a group, until it is resumed.',
  body: input({}),
  answers: answers200('The group', MEMBERS),
  async handle(call) {
    const [queue, name] = [queueOf(call), groupOf(call)];
    await pauseGroup(call.db, queue, name, call.acting);
    return ok(groupDetailsOf(await showGroup(call.db, queue, name)));
  },
};

const goOn: Route = {
  method: 'POST',
  path: `${GROUP}/resume`,
  role: 'operator',
  summary: 'Resume a group. `resumed` is false if it was not paused.',
  body: input({}),
  answers: answers200('Whether it was paused', record({ resumed: FLAG })),
  async handle(call) {
    return ok({ resumed: await resumeGroup(call.db, queueOf(call), groupOf(call), call.acting) });
  },
};

function groupOf({ path }: Call): string {
  return checkedName('group', path.group);
}

export const QUEUE_VERBS: readonly Route[] = [set, pause, resume, group, limit, stop, goOn];
