import { checkedWorkflowId } from '../../domain/task-id.ts';
import { WORKFLOW_STATES, type WorkflowState } from '../../domain/workflow/state.ts';
import { workflowDetailsOf, workflowOf } from '../../library/workflow-records.ts';
import { listWorkflows } from '../../queue/inspect/list-workflows.ts';
import { type ShownWorkflow, showWorkflow } from '../../queue/inspect/show-workflow.ts';
import { AFTER, answers200, LIMIT, limitOf } from '../answers.ts';
import { notFound } from '../problem.ts';
import { type Call, ok, type Route } from '../route.ts';
import { MEMBERS, record, ref, TEXT } from '../schema.ts';
import { ID, pageOf } from '../schemas.ts';
import { timeoutOf } from './tasks.ts';

const list: Route = {
  method: 'GET',
  path: '/workflows',
  role: 'viewer',
  queues: 'all',
  mayTakeLong: true,
  summary: 'List the workflows, newest first.',
  query: {
    state: { type: 'string', enum: WORKFLOW_STATES, description: 'only those in this state' },
    limit: LIMIT,
    after: AFTER,
  },
  answers: answers200('A page', pageOf('workflows', 'Workflow')),
  async handle({ query, db }) {
    const limit = limitOf(query);
    const after = query.after === undefined ? null : checkedWorkflowId(query.after, 'after');
    const found = await listWorkflows(db, { limit, after, state: query.state as WorkflowState | undefined });
    return ok({ workflows: found.map(workflowOf), after: found.length < limit ? null : found.at(-1)!.id });
  },
};

const show: Route = {
  method: 'GET',
  path: '/workflows/{id}',
  role: 'viewer',
  queues: 'all',
  summary: 'Show a workflow with its steps and what each waits for.',
  answers: answers200('The workflow', ref('WorkflowDetails')),
  async handle(call) {
    return ok(workflowDetailsOf(await shownWorkflow(call)));
  },
};

const wait: Route = {
  method: 'GET',
  path: '/workflows/{id}/wait',
  role: 'viewer',
  queues: 'all',
  summary: 'Wait until a workflow has ended. 202: it has not by then, and goes on; ask again.',
  query: { timeout: { type: 'string', description: 'the longest wait, at most 60s; 30s' } },
  answers: {
    ...answers200('How it ended', record({ id: ID, name: TEXT, state: TEXT, steps: MEMBERS })),
    202: { description: 'It goes on', schema: record({ id: ID, state: TEXT }) },
  },
  async handle(call) {
    const id = checkedWorkflowId(call.path.id);
    const waited = await call.workflows.wait(id, { timeoutMs: timeoutOf(call.query), signal: call.signal });
    if (waited.kind === 'gone') throw notFound('such workflow');
    if (waited.kind === 'deadline')
      return { status: 202, body: { id, state: (await shownWorkflow(call)).state } };
    const { name, state, steps } = waited.end;
    return ok({ id, name, state, steps });
  },
};

/** The workflow of a path. Throws Problem. */
export async function shownWorkflow({ path, db }: Call): Promise<ShownWorkflow> {
  const workflow = await showWorkflow(db, checkedWorkflowId(path.id));
  if (workflow === undefined) throw notFound('such workflow');
  return workflow;
}

export const WORKFLOW_READS: readonly Route[] = [list, show, wait];
