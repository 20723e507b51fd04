import { checkedName } from '../../domain/names.ts';
import { checkedWorkflowId } from '../../domain/task-id.ts';
import { normaliseWorkflowOptions } from '../../domain/workflow/workflow-options.ts';
import { cancelWorkflow } from '../../queue/operate/cancel-workflow.ts';
import { closeWorkflow } from '../../queue/operate/close-workflow.ts';
import { retryWorkflow } from '../../queue/operate/retry-workflow.ts';
import { runWorkflow } from '../../queue/protocol/run-workflow.ts';
import { answers200, wrongState } from '../answers.ts';
import { camel } from '../camel.ts';
import { allowUnknownOf, tasksOf } from '../new-tasks.ts';
import { notFound } from '../problem.ts';
import { ok, type Route } from '../route.ts';
import { FLAG, input, listOf, record, TEXT, TEXT_OR_NULL, WHOLE } from '../schema.ts';
import { ALLOW_UNKNOWN, CALLBACK, ID, NEW_TASK } from '../schemas.ts';
import { shownWorkflow } from './workflows.ts';

const run: Route = {
  method: 'POST',
  path: '/workflows',
  role: 'producer',
  queues: 'all',
  summary:
    'Start a workflow: all of it is stored, or nothing. To one that is `open`, `POST tasks` adds steps until it is closed.',
  query: ALLOW_UNKNOWN,
  body: input(
    {
      ...{ name: TEXT, open: FLAG, failFast: FLAG, maxDead: WHOLE },
      ...{ onStep: CALLBACK, onFailing: CALLBACK, onEnd: CALLBACK },
      steps: listOf(input(NEW_TASK, ['step', 'type'])),
    },
    ['name'],
  ),
  answers: {
    201: {
      description: 'Its id, and those of its tasks by step',
      schema: record({ id: ID, tasks: { type: 'object', additionalProperties: ID } }),
    },
  },
  async handle({ body, query, db, caller }) {
    const {
      name,
      steps = [],
      ...options
    } = body as { readonly name: string; readonly steps?: readonly object[] };
    const workflow = {
      name: checkedName('workflow', name),
      options: normaliseWorkflowOptions(options),
      steps: tasksOf(steps, caller, (place) => `/steps/${place}`),
    };
    const allowUnknown = allowUnknownOf(query);
    const started = await runWorkflow(db, workflow, { allowUnknown });
    return { status: 201, body: { id: started.id, tasks: started.steps } };
  },
};

const cancel: Route = {
  method: 'POST',
  path: '/workflows/{id}/cancel',
  role: 'operator',
  queues: 'all',
  summary:
    'Cancel the live steps of a workflow. `requested`: some still run, and their workers are asked to end them.',
  body: input({}),
  answers: answers200('What became of it', record({ answer: TEXT })),
  async handle({ path, db, acting }) {
    const { answer, state } = await cancelWorkflow(db, checkedWorkflowId(path.id), acting);
    if (answer !== 'not_live') return ok({ answer });
    throw state === null ? notFound('such workflow') : wrongState('the workflow', state);
  },
};

const retry: Route = {
  method: 'POST',
  path: '/workflows/{id}/retry',
  role: 'operator',
  queues: 'all',
  summary: 'Run the dead steps of a workflow again, and those that their deaths have cancelled.',
  body: input({}),
  answers: answers200(
    'What became of each',
    record({ steps: listOf(record({ step: TEXT_OR_NULL, taskId: ID, answer: TEXT })) }),
  ),
  async handle(call) {
    await shownWorkflow(call);
    const steps = await retryWorkflow(call.db, checkedWorkflowId(call.path.id), call.acting);
    return ok({ steps: steps.map(camel) });
  },
};

const close: Route = {
  method: 'POST',
  path: '/workflows/{id}/close',
  role: 'operator',
  queues: 'all',
  summary: 'Take no more steps for an open workflow. `closed` is false if it was not open.',
  body: input({}),
  answers: answers200('Whether it was open', record({ closed: FLAG })),
  async handle(call) {
    await shownWorkflow(call);
    return ok({ closed: await closeWorkflow(call.db, checkedWorkflowId(call.path.id), call.acting) });
  },
};

export const WORKFLOW_VERBS: readonly Route[] = [run, cancel, retry, close];
