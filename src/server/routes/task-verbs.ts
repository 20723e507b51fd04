import { type StoredChanges, storedChanges } from '../../domain/edit-changes.ts';
import { exactPayload } from '../../domain/payload.ts';
import { checkedTaskId } from '../../domain/task-id.ts';
import { reviveOptions } from '../../library/revive-options.ts';
import type { ActingOnTasks } from '../../queue/operate/acting.ts';
import { cancel } from '../../queue/operate/cancel.ts';
import { discard } from '../../queue/operate/discard.ts';
import { edit } from '../../queue/operate/edit.ts';
import { purge } from '../../queue/operate/purge.ts';
import { rerun } from '../../queue/operate/rerun.ts';
import { retry } from '../../queue/operate/retry.ts';
import { revive } from '../../queue/operate/revive.ts';
import { answers200, wrongState } from '../answers.ts';
import type { Caller } from '../caller.ts';
import { camel } from '../camel.ts';
import { notFound, Problem } from '../problem.ts';
import { type Call, ok, type Route } from '../route.ts';
import { ANY, DURATION, input, MEMBERS_OR_NULL, record, TEXT } from '../schema.ts';
import { ID } from '../schemas.ts';
import { visibleQueue } from './queues.ts';
import { visibleTask } from './tasks.ts';

const cancelTask: Route = {
  method: 'POST',
  path: '/tasks/{id}/cancel',
  role: 'operator',
  summary:
    'Cancel a task: a waiting one at once; the worker of a running one is asked to end it (`requested`).',
  body: input({}),
  answers: answers200('What became of it', record({ id: ID, answer: TEXT })),
  async handle(call) {
    const [answer] = await cancel(call.db, [await idOf(call)], call.acting.reason ?? null, actingOf(call));
    return ok(await settled(call, answer!, ['cancelled', 'requested']));
  },
};

const retryTask: Route = {
  method: 'POST',
  path: '/tasks/{id}/retry',
  role: 'operator',
  summary: 'Make a waiting task due now; one that was due keeps its place (`due`).',
  body: input({}),
  answers: answers200('What became of it', record({ id: ID, answer: TEXT })),
  async handle(call) {
    const [answer] = await retry(call.db, [await idOf(call)], actingOf(call));
    return ok(await settled(call, answer!, ['retried', 'due']));
  },
};

/** The changes to a waiting task. */
export const CHANGES = input({
  payload: ANY,
  priority: { type: ['integer', 'string'] },
  queue: TEXT,
  delay: DURATION,
  at: TEXT,
});

const editTask: Route = {
  method: 'PATCH',
  path: '/tasks/{id}',
  role: 'operator',
  summary: 'Change the payload, priority, queue or time (`delay` or `at`) of a task that waits.',
  body: CHANGES,
  answers: answers200('What became of it', record({ id: ID, answer: TEXT })),
  async handle(call) {
    const stored = changesOf(call.body, call.caller);
    const [answer] = await edit(call.db, [await idOf(call)], stored, actingOf(call));
    return ok(await settled(call, answer!, ['edited']));
  },
};

/** Reads changes. Throws Problem: the caller may not move tasks into that queue. */
export function changesOf({ payload, ...changes }: Call['body'], caller: Caller): StoredChanges {
  const stored = storedChanges(
    changes,
    payload === undefined ? undefined : exactPayload('the task', payload),
  );
  if (stored.queue !== undefined) visibleQueue(caller, stored.queue);
  return stored;
}

const reviveTask: Route = {
  method: 'POST',
  path: '/tasks/{id}/revive',
  role: 'operator',
  summary: 'Revive a dead letter: same id and history, all attempts again.',
  body: input({ payload: ANY, delay: DURATION, maxAttempts: { type: ['integer', 'string'] } }),
  answers: answers200('What became of it', record({ id: ID, answer: TEXT })),
  async handle(call) {
    const [answer] = await revive(call.db, [await idOf(call)], { ...optionsOf(call), ...actingOf(call) });
    return ok(await settled(call, answer!, ['revived']));
  },
};

const rerunTask: Route = {
  method: 'POST',
  path: '/tasks/{id}/rerun',
  role: 'operator',
  summary: 'Run a finished task again, as a new task.',
  body: input({ payload: ANY, delay: DURATION }),
  answers: { 201: { description: 'The new task', schema: record({ id: ID, answer: TEXT }) } },
  async handle(call) {
    const [answer] = await rerun(call.db, [await idOf(call)], { ...optionsOf(call), ...actingOf(call) });
    return { status: 201, body: await settled(call, answer!, ['enqueued']) };
  },
};

const DELETED = record({ id: ID, answer: TEXT, heldKey: MEMBERS_OR_NULL });

const discardTask: Route = {
  method: 'POST',
  path: '/tasks/{id}/discard',
  role: 'operator',
  summary: 'Delete a dead letter for good.',
  body: input({}),
  answers: answers200('It is gone; `heldKey` stays held', DELETED),
  async handle(call) {
    const [answer] = await discard(call.db, [await idOf(call)], actingOf(call));
    return ok(await settled(call, answer!, ['discarded']));
  },
};

const purgeTask: Route = {
  method: 'POST',
  path: '/tasks/{id}/purge',
  role: 'operator',
  summary: 'Delete a finished task for good.',
  body: input({}),
  answers: answers200('It is gone; `heldKey` stays held', DELETED),
  async handle(call) {
    const [answer] = await purge(call.db, [await idOf(call)], actingOf(call));
    return ok(await settled(call, answer!, ['purged']));
  },
};

/** The id of a path. Throws Problem: the task is of a queue that the caller may not see. */
async function idOf(call: Call): Promise<string> {
  if (call.caller.queues == null) return checkedTaskId(call.path.id);
  return (await visibleTask(call)).id;
}

/** Who acts and why. The task may have moved to a queue that the caller may not see since `idOf` checked. */
function actingOf({ acting, caller }: Call): ActingOnTasks {
  return { ...acting, queues: caller.queues };
}

function optionsOf({ body }: Call) {
  const { payload, delay, maxAttempts } = body;
  return reviveOptions({
    payload: payload === undefined ? undefined : exactPayload('the task', payload),
    delay: delay as string | number | undefined,
    maxAttempts: maxAttempts as number | 'unlimited' | undefined,
  });
}

interface VerbAnswer {
  readonly id: string;
  readonly answer: string;
  /** Null: there is no such task. */
  readonly status?: string | null;
  readonly key?: string | null;
  readonly holder?: string | null;
  /** Why the database refuses the task. */
  readonly problem?: string | null;
}

/** Returns the answer of a verb that did it. Throws Problem for any other. */
async function settled(call: Call, given: VerbAnswer, done: readonly string[]): Promise<object> {
  const { answer, status, key, holder, problem } = given;
  if (done.includes(answer)) return camel(given);
  if (call.caller.queues != null) await visibleTask(call);
  if (answer === 'key_held') {
    const detail = `task ${holder} holds the key ${JSON.stringify(key)}`;
    throw new Problem('key_held', { detail, more: { key, holder } });
  }
  if (answer === 'busy') {
    const detail = 'another transaction keeps the task locked';
    throw new Problem('unavailable', { detail }, { 'retry-after': '5' });
  }
  if (answer === 'refused')
    throw new Problem([422, 'refused'], { detail: problem ?? 'the database refuses the task' });
  if (status === null || status === undefined) throw notFound('such task');
  throw wrongState('the task', status);
}

export const TASK_VERBS: readonly Route[] = [
  cancelTask,
  retryTask,
  editTask,
  reviveTask,
  rerunTask,
  discardTask,
  purgeTask,
];
