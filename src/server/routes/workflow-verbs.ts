import { checkedWorkflowId } from '../../domain/task-id.ts';
import { cancelWorkflow } from '../../queue/operate/cancel-workflow.ts';
import { closeWorkflow } from '../../queue/operate/close-workflow.ts';
import { retryWorkflow } from '../../queue/operate/retry-workflow.ts';
import { answers200, wrongState } from '../answers.ts';
import { camel } from '../camel.ts';
import { notFound } from '../problem.ts';
import { ok, type Route } from '../route.ts';
import { FLAG, input, listOf, record, TEXT } from '../schema.ts';
import { ID } from '../schemas.ts';
import { shownWorkflow } from './workflows.ts';

const cancel: Route = {
  method: 'POST',
  path: '/workflows/{id}/cancel',
  role: 'operator',
  queues: 'all',
  summary:
    'Cancel the live steps of a workflow. `requested`: some still run, and their workers are asked to end them.',
  body: input({ reason: TEXT }),
  answers: answers200('What became of it', record({ answer: TEXT })),
  async handle({ path, db, body, by }) {
    const reason = (body.reason as string | undefined) ?? null;
    const { answer, state } = await cancelWorkflow(db, checkedWorkflowId(path.id), { reason, by });
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
    record({ steps: listOf(record({ step: TEXT, taskId: ID, answer: TEXT })) }),
  ),
  async handle(call) {
    await shownWorkflow(call);
    const steps = await retryWorkflow(call.db, checkedWorkflowId(call.path.id), { by: call.by });
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
    return ok({ closed: await closeWorkflow(call.db, checkedWorkflowId(call.path.id), { by: call.by }) });
  },
};

export const WORKFLOW_VERBS: readonly Route[] = [cancel, retry, close];
