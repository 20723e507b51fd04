import { bulkOf, enqueue, enqueueMany } from '../../queue/protocol/enqueue.ts';
import { allowUnknownOf, tasksOf } from '../new-tasks.ts';
import type { Route } from '../route.ts';
import { input, listOf, record, ref, WHOLE } from '../schema.ts';
import { ALLOW_UNKNOWN, ID, NEW_TASK } from '../schemas.ts';

const TASK = input({ ...NEW_TASK, workflow: ID }, ['type']);

const ENQUEUED_MANY = record({ created: WHOLE, tasks: listOf(ref('Enqueued')) });

/** `POST /tasks`: one task, or many in one transaction. */
export const enqueueTasks: Route = {
  method: 'POST',
  path: '/tasks',
  role: 'producer',
  summary:
    'Enqueue a task, or as a list or NDJSON up to 10,000 at once: all or none. 201: made; 200: their keys are held, and the answer names the holders.',
  query: ALLOW_UNKNOWN,
  body: TASK,
  takesMany: true,
  answers: {
    200: { description: 'None was made', schema: { anyOf: [ref('Enqueued'), ENQUEUED_MANY] } },
    201: { description: 'At least one was made', schema: { anyOf: [ref('Enqueued'), ENQUEUED_MANY] } },
  },
  async handle({ items, body, query, db, caller }) {
    const allowUnknown = allowUnknownOf(query);
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
