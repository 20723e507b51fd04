import { type EnqueueOptions, normaliseEnqueueOptions } from '../../domain/enqueue-options.ts';
import { checkedName } from '../../domain/names.ts';
import { exactPayload } from '../../domain/payload.ts';
import { TaskqError } from '../../lib/errors.ts';
import { bulkOf, enqueue, enqueueMany, type NewTask } from '../../queue/protocol/enqueue.ts';
import { type Caller, maySee } from '../caller.ts';
import { Problem } from '../problem.ts';
import type { Route } from '../route.ts';
import { ANY, input, listOf, type Misfit, pointerTo, record, ref, TEXT, WHOLE } from '../schema.ts';
import { ENQUEUE_OPTIONS } from '../schemas.ts';

const TASK = input({ type: TEXT, payload: ANY, ...ENQUEUE_OPTIONS }, ['type']);

const ENQUEUED_MANY = record({ created: WHOLE, tasks: listOf(ref('Enqueued')) });

/** `POST /tasks`: one task, or many in one transaction. */
export const enqueueTasks: Route = {
  method: 'POST',
  path: '/tasks',
  role: 'producer',
  summary:
    'Enqueue a task, or as a list or NDJSON up to 10,000 at once: all or none. 201: made; 200: their keys are held, and the answer names the holders.',
  query: {
    allowUnknown: {
      type: 'string',
      enum: ['true'],
      description: 'accept types that no worker has registered',
    },
  },
  body: TASK,
  takesMany: true,
  answers: {
    200: { description: 'None was made', schema: { anyOf: [ref('Enqueued'), ENQUEUED_MANY] } },
    201: { description: 'At least one was made', schema: { anyOf: [ref('Enqueued'), ENQUEUED_MANY] } },
  },
  async handle({ items, body, query, db, caller }) {
    const allowUnknown = query.allowUnknown === 'true' ? true : [];
    if (items === null) {
      const enqueued = await enqueue(db, tasksOf([body], caller, () => '')[0]!, allowUnknown);
      return { status: enqueued.created ? 201 : 200, body: enqueued };
    }
    const tasks = tasksOf(items as readonly object[], caller, (place) => `/${place}`);
    const answers = tasks.length === 0 ? [] : await enqueueMany(db, bulkOf(tasks, allowUnknown));
    const created = answers.filter((answer) => answer.created).length;
    return { status: created > 0 ? 201 : 200, body: { created, tasks: answers } };
  },
};

/** Converts what a client sent. Throws Problem with the first ten tasks that do not fit. */
function tasksOf(
  given: readonly object[],
  caller: Caller,
  pointerOf: (place: number) => string,
): readonly NewTask[] {
  const errors: Misfit[] = [];
  let first: TaskqError | undefined;
  const tasks = given.flatMap((task, place) => {
    let pointer = pointerOf(place);
    try {
      return newTaskOf(task, caller, (name) => {
        pointer = pointerTo(pointerOf(place), name);
      });
    } catch (error) {
      if (!(error instanceof TaskqError)) throw error;
      first ??= error;
      errors.push({ pointer, detail: error.message });
      return [];
    }
  });
  if (first === undefined) return tasks;
  throw new Problem([first.code === 'invalid_payload' ? 422 : 400, first.code], {
    detail: first.message,
    hint: first.hint,
    errors: errors.slice(0, 10),
  });
}

/** `reads` is called with the name of each member before it is read. */
function newTaskOf(given: object, caller: Caller, reads: (name: string) => void): NewTask {
  const { type, payload = {}, ...options } = given as { readonly type: string; readonly payload?: unknown };
  reads('type');
  checkedName('type', type);
  reads('payload');
  const { text } = exactPayload(type, payload);
  const stored = normaliseEnqueueOptions(options as EnqueueOptions, (name) => {
    reads(name);
    return name;
  });
  refuseOtherQueues(caller, stored);
  return { type, payload: text, options: stored };
}

/** A caller for some queues names the queue: that of a type may be another. */
function refuseOtherQueues(
  caller: Caller,
  { queue, on_complete: onComplete, on_dead: onDead }: ReturnType<typeof normaliseEnqueueOptions>,
): void {
  if (caller.queues == null) return;
  const queues = [queue, ...[onComplete, onDead].flatMap((next) => (next === undefined ? [] : [next.queue]))];
  if (queues.every((name) => name !== undefined && maySee(caller, name))) return;
  throw new Problem('other_queue', {
    detail: 'the token is for some queues: name one of them, here and in onComplete and onDead',
  });
}
