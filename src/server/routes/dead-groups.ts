import { checkedName } from '../../domain/names.ts';
import { type DeadGroupOfPage, pageDeadGroups } from '../../queue/inspect/list-dead-groups.ts';
import { AFTER, answers200, LIMIT, limitOf } from '../answers.ts';
import { camel } from '../camel.ts';
import { badRequest, notFound } from '../problem.ts';
import { ok, type Route } from '../route.ts';
import { ref } from '../schema.ts';
import { pageOf } from '../schemas.ts';

const list: Route = {
  method: 'GET',
  path: '/dead/groups',
  role: 'viewer',
  mayTakeLong: true,
  summary: 'List the groups of dead letters that one bug has made, the largest first.',
  query: {
    queue: { type: 'string', description: 'only dead letters of this queue' },
    type: { type: 'string', description: 'only this type' },
    limit: LIMIT,
    after: AFTER,
  },
  answers: answers200('A page', pageOf('groups', 'DeadGroup')),
  async handle({ query, db, caller: { queues = null } }) {
    const { queue, type, after } = query;
    if (after !== undefined && !/^[1-9]\d{0,17}-[0-9a-f]{10}$/.test(after))
      throw badRequest('bad_option', [
        { pointer: 'after', detail: 'expected the after of the previous page' },
      ]);
    const filter = {
      ...{ queues, after, trend: true as const },
      queue: queue === undefined ? undefined : checkedName('queue', queue),
      type: type === undefined ? undefined : checkedName('type', type),
    };
    const limit = limitOf(query);
    const groups = await pageDeadGroups(db, filter, limit);
    return ok({ groups: groups.map(groupOf), after: groups.length < limit ? null : groups.at(-1)!.after });
  },
};

const show: Route = {
  method: 'GET',
  path: '/dead/groups/{fingerprint}',
  role: 'viewer',
  mayTakeLong: true,
  summary: 'Show the group of dead letters with this fingerprint.',
  answers: answers200('The group', ref('DeadGroup')),
  async handle({ path: { fingerprint }, db, caller: { queues = null } }) {
    const isWhole = /^[0-9a-f]{10}$/.test(fingerprint!);
    const [group] = isWhole ? await pageDeadGroups(db, { fingerprint, queues, trend: true }, 1) : [];
    if (group === undefined) throw notFound('such group of dead letters');
    return ok(groupOf(group));
  },
};

function groupOf({ after: _, ...group }: DeadGroupOfPage): object {
  return camel(group);
}

export const DEAD_READS: readonly Route[] = [list, show];
