import { checkedName } from '../../domain/names.ts';
import { checkedTaskId } from '../../domain/task-id.ts';
import { instantOf } from '../../queue/inspect/instant.ts';
import { listAudit } from '../../queue/inspect/list-audit.ts';
import { AFTER, answers200, LIMIT, limitOf } from '../answers.ts';
import { camel } from '../camel.ts';
import { ok, type Route } from '../route.ts';
import { pageOf } from '../schemas.ts';

const list: Route = {
  method: 'GET',
  path: '/audit',
  role: 'operator',
  queues: 'all',
  mayTakeLong: true,
  summary: 'List what people did, newest first.',
  query: {
    since: { type: 'string', description: 'only since this time, or duration ago' },
    before: { type: 'string', description: 'only before this time' },
    who: { type: 'string', description: 'only by this role or name; `ann` also finds `ann@laptop`' },
    verb: { type: 'string', description: 'only this verb, such as `revive` or `set schedule`' },
    via: { type: 'string', description: 'only from sessions with this application_name' },
    task: { type: 'string', description: 'only what was done to the task with this id' },
    queue: { type: 'string', description: 'only what was done to this queue' },
    type: { type: 'string', description: 'only what was done to this type' },
    limit: LIMIT,
    after: AFTER,
  },
  answers: answers200('A page', pageOf('actions', 'Action')),
  async handle({ query, db }) {
    const { since, before, who, verb, via, task, queue, type } = query;
    const filter = {
      ...{ who, verb, via },
      ...(since !== undefined && { since: instantOf(since, 'since') }),
      ...(before !== undefined && { before: instantOf(before, 'before') }),
      ...(task !== undefined && { task: checkedTaskId(task, 'task') }),
      ...(queue !== undefined && { queue: checkedName('queue', queue) }),
      ...(type !== undefined && { type: checkedName('type', type) }),
    };
    const limit = limitOf(query);
    const after = query.after === undefined ? null : checkedTaskId(query.after, 'after');
    const { actions, nextAfter } = await listAudit(db, filter, limit, after);
    return ok({ actions: actions.map(camel), after: nextAfter });
  },
};

export const AUDIT_READS: readonly Route[] = [list];
