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
  summary: 'List what people did, newest first.',
  query: {
    since: { type: 'string', description: 'only since this time, or duration ago' },
    until: { type: 'string', description: 'only before this' },
    who: { type: 'string', description: 'only by this role or name; `ann` also finds `ann@laptop`' },
    verb: { type: 'string', description: 'only this verb, such as `revive` or `set schedule`' },
    task: { type: 'string', description: 'only what was done to the task with this id' },
    limit: LIMIT,
    after: AFTER,
  },
  answers: answers200('A page', pageOf('actions', 'Action')),
  async handle({ query, db }) {
    const { since, until, who, verb, task } = query;
    const filter = {
      ...{ who, verb },
      ...(since !== undefined && { since: instantOf(since, 'since') }),
      ...(until !== undefined && { before: instantOf(until, 'until') }),
      ...(task !== undefined && { task: checkedTaskId(task, 'task') }),
    };
    const limit = limitOf(query);
    const after = query.after === undefined ? null : checkedTaskId(query.after, 'after');
    const rows = await listAudit(db, filter, limit, after);
    return ok({ actions: rows.map(camel), after: rows.length < limit ? null : rows.at(-1)!.id });
  },
};

export const AUDIT_READS: readonly Route[] = [list];
