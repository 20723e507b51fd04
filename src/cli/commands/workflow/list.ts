import { checkedWorkflowId } from '../../../domain/task-id.ts';
import { checkedState, WORKFLOW_STATES } from '../../../domain/workflow/state.ts';
import { listWorkflows } from '../../../queue/inspect/list-workflows.ts';
import type { CliCommand } from '../../run/command.ts';
import { declarePage, parseLimit } from '../../select/task-filter.ts';

interface ListOptions {
  readonly state?: string;
  readonly limit: string;
  readonly after?: string;
}

const MOST = 10_000;

/** `taskq workflow list`: a page of workflows, newest first. */
export const workflowList: CliCommand<ListOptions> = {
  suggestions: { state: WORKFLOW_STATES },
  declare(command) {
    command.option('--state <state>', `only these: ${WORKFLOW_STATES.join(', ')}`);
    declarePage(command).addHelpText('after', COLUMNS);
  },
  async run(context, { options }) {
    const state = options.state === undefined ? undefined : checkedState(options.state, '--state');
    const limit = parseLimit(options.limit, MOST);
    const after = options.after === undefined ? null : checkedWorkflowId(options.after, '--after');
    const db = await context.database();
    const workflows = await listWorkflows(db, { state, limit, after });
    const next = workflows.length < limit ? null : workflows.at(-1)!.id;
    await context.output.answer({ workflows, next_after: next }, async (screen) => {
      const { formatWorkflows } = await import('../../present/format-workflows.ts');
      return formatWorkflows(workflows, screen);
    });
    if (context.output.format === 'json') return;
    if (workflows.length === 0)
      context.output.talk(state === undefined ? 'there is no workflow' : `no workflow is ${state}`);
    else if (next !== null) context.output.talk(`there may be more: --after ${next}`);
  },
};

const COLUMNS = `
States:
  open       steps can be added until it is closed
  running    it has steps that have not ended
  stuck      all steps that are left wait for ones that are dead, cancelled or expired
  completed  each of its last steps, those that no other waits for, has completed
  failed     one of its last steps has not completed
  cancelled  taskq workflow cancel has ended it

Columns:
  LIVE     steps that have not ended
  WAITING  those of them that wait for their parents
  DEATHS   dead, cancelled and expired steps, except those that another death has cancelled`;
