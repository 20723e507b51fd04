import { TASK_STATUSES } from '../../domain/task.ts';
import { checkedAfter, checkedTaskId } from '../../domain/task-id.ts';
import { toDurationMs } from '../../lib/duration.ts';
import { oneValueEach } from '../../lib/one-value-each.ts';
import { explanationOf } from '../../library/explanation.ts';
import { endOf } from '../../library/task-end.ts';
import { recordOf, shownOf } from '../../library/task-record.ts';
import { explainTask } from '../../queue/inspect/explain-task.ts';
import { findTasks } from '../../queue/inspect/find-tasks.ts';
import { type ShownTask, showTask } from '../../queue/inspect/show-task.ts';
import { type ListFilter, storedFilter } from '../../queue/inspect/task-filter.ts';
import { getEnds } from '../../queue/protocol/get-ends.ts';
import { AFTER, answers200, limitOf } from '../answers.ts';
import { maySee } from '../caller.ts';
import { badRequest, notFound } from '../problem.ts';
import { type Call, ok, type QueryParameter, type Route } from '../route.ts';
import { record, ref, TEXT, TIME_OR_NULL } from '../schema.ts';
import { ID, pageOf } from '../schemas.ts';

/** The parameters that choose tasks. */
export const FILTERS: Readonly<Record<string, QueryParameter>> = {
  queue: { type: 'string', description: 'only this queue' },
  type: { type: 'string', description: 'only this type' },
  status: { type: 'string', enum: TASK_STATUSES, isList: true, description: 'only this status, or these' },
  tag: {
    type: 'string',
    isList: true,
    description: '`name=value`: only tasks with this tag, or all of these',
  },
  key: { type: 'string', description: 'only tasks with this key' },
  group: { type: 'string', description: 'only tasks of this group' },
  workflow: { type: 'string', description: 'only steps of the workflow with this id' },
  payload: {
    type: 'string',
    isPrefix: true,
    description: '`payload.order.id=42`: only tasks whose payload has this value there, or all of these',
  },
  reason: { type: 'string', description: 'only tasks that died or were cancelled for this reason' },
  priority: { type: 'string', description: 'only this priority' },
  failed: {
    type: 'string',
    enum: ['true'],
    description: 'only tasks that wait after a failed attempt, or are dead',
  },
  fingerprint: {
    type: 'string',
    description: 'only dead letters of this group, by the first digits of its fingerprint',
  },
  since: {
    type: 'string',
    description: 'only tasks that ended (live ones: were created) since this time, or duration ago',
  },
  before: { type: 'string', description: 'only tasks that ended (live ones: were created) before this' },
};

/** How long a page looks for tasks: where few of a large history match, it has fewer than asked for. */
const LOOK_MS = 1000;
const MOST_WAIT_MS = 60_000;

const list: Route = {
  method: 'GET',
  path: '/tasks',
  role: 'viewer',
  mayTakeLong: true,
  summary:
    'List tasks, newest first. A page may have fewer than `limit`: there is more while `after` is not null. `lookedBackTo` says how far the search came where few match.',
  query: {
    ...FILTERS,
    limit: { type: 'integer', description: 'the most tasks of a page, 1 to 1000; 100' },
    after: AFTER,
  },
  answers: answers200('A page', pageOf('tasks', 'Task', { lookedBackTo: TIME_OR_NULL })),
  async handle({ query, lists, db, caller }) {
    const { queues } = caller;
    // Part of the search, not a filter after it: otherwise the end of a page would reveal what other queues hold.
    const filter = { ...storedFilter(filterOf(query, lists)), ...(queues != null && { queues }) };
    const after = query.after === undefined ? null : checkedAfter(query.after);
    const limit = limitOf(query);
    const page = await findTasks(db, filter, limit, { after, lookMs: LOOK_MS });
    const tasks = page.tasks.map(recordOf);
    const isEarly = page.nextAfter !== null && page.tasks.length < limit;
    return ok({
      tasks,
      after: page.nextAfter,
      lookedBackTo: isEarly ? await timeOfPlace(db, page.nextAfter) : null,
    });
  },
};

const show: Route = {
  method: 'GET',
  path: '/tasks/{id}',
  role: 'viewer',
  summary: 'Show a task with its attempts, their logs, and what people did to it.',
  answers: answers200('The task', ref('TaskDetails')),
  async handle(call) {
    return ok(shownOf(await visibleTask(call)));
  },
};

const explain: Route = {
  method: 'GET',
  path: '/tasks/{id}/explain',
  role: 'viewer',
  summary: 'Show why a task does not run, or where it is running.',
  answers: answers200('Its causes', ref('Explanation')),
  async handle({ path, db, caller }) {
    const found = await explainTask(db, checkedTaskId(path.id));
    if (found === undefined || !maySee(caller, found.queue)) throw notFound('such task');
    return ok(explanationOf(found));
  },
};

const wait: Route = {
  method: 'GET',
  path: '/tasks/{id}/wait',
  role: 'viewer',
  summary: 'Wait until a task has ended. 202: it has not by then, and goes on; ask again.',
  query: { timeout: { type: 'string', description: 'the longest wait, at most 60s; 30s' } },
  answers: {
    ...answers200('How it ended', ref('TaskEnd')),
    202: { description: 'It goes on', schema: record({ id: ID, status: TEXT }) },
  },
  async handle(call) {
    const { path, query, db, tasks, signal } = call;
    const id = checkedTaskId(path.id);
    const timeoutMs = timeoutOf(query);
    if (call.caller.queues != null) await visibleTask(call);
    const waited = await tasks.wait(id, { timeoutMs, signal });
    if (waited.kind === 'ended') return ok(endOf(waited.end));
    if (waited.kind === 'gone') throw notFound('such task');
    const [end] = await getEnds(db, [id]);
    return { status: 202, body: { id, status: end?.status ?? 'gone' } };
  },
};

/** Reads the parameter `timeout`. Throws Problem. */
export function timeoutOf({ timeout = '30s' }: Call['query']): number {
  const timeoutMs = toDurationMs(timeout, 'timeout');
  if (timeoutMs <= MOST_WAIT_MS) return timeoutMs;
  throw badRequest('bad_option', [{ pointer: 'timeout', detail: 'expected at most 60s' }]);
}

/** Returns the task of a path. Throws Problem: there is none that the caller may see. */
export async function visibleTask({ path, db, caller }: Call): Promise<ShownTask> {
  const task = await showTask(db, checkedTaskId(path.id));
  if (task === undefined || !maySee(caller, task.queue)) throw notFound('such task');
  return task;
}

/** Reads those parameters, unchecked. */
export function filterOf(
  { limit: _, after: __, failed, ...same }: Call['query'],
  lists: Call['lists'],
): ListFilter {
  const values = Object.entries(same).filter(([name]) => name.startsWith(PAYLOAD));
  const others = Object.entries(same).filter(([name]) => !name.startsWith(PAYLOAD));
  return {
    ...Object.fromEntries(others),
    ...(values.length > 0 && {
      payload: Object.fromEntries(values.map(([name, value]) => [name.slice(PAYLOAD.length), value])),
    }),
    ...(lists.status && { status: lists.status as NonNullable<ListFilter['status']> }),
    ...(failed === 'true' && { failed: true }),
    ...(lists.tag && { tags: tagsOf(lists.tag) }),
  };
}

/** The prefix of parameters about the payload. */
const PAYLOAD = 'payload.';

function tagsOf(texts: readonly string[]): Record<string, string> {
  return oneValueEach(texts.map(tagOf), (name) =>
    badRequest('bad_option', [{ pointer: 'tag', detail: `has two values of ${JSON.stringify(name)}` }]),
  );
}

function tagOf(text: string): readonly [name: string, value: string] {
  const at = text.indexOf('=');
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw badRequest('bad_option', [{ pointer: 'tag', detail: 'expected name=value' }]);
}

/** The time of death, or of creation, of the task at which a page ends; null: it has gone. */
async function timeOfPlace(db: Call['db'], after: string): Promise<string | null> {
  const [, deathUs] = /^(-?\d+)-\d+$/.exec(after) ?? [];
  if (deathUs !== undefined) return new Date(Number(deathUs) / 1000).toISOString();
  return ((await showTask(db, after))?.created_at as string | undefined) ?? null;
}

export const TASK_READS: readonly Route[] = [list, show, explain, wait];
