import { checkedWorkflowId } from '../../../domain/task-id.ts';
import { type ShownStep, showWorkflow } from '../../../queue/inspect/show-workflow.ts';
import type { CliCommand } from '../../run/command.ts';
import { firstOf, noteWaits } from '../../select/note-waits.ts';
import { noSuchWorkflow } from '../../workflow/no-such-workflow.ts';

/** `taskq workflow show`: a workflow, and its steps as a tree. */
export const workflowShow: CliCommand = {
  declare(command) {
    command.argument('<id>', 'id of the workflow').addHelpText('after', ABOUT);
  },
  async run(context, { args }) {
    const id = checkedWorkflowId(args[0]!);
    const db = await context.database();
    const workflow = await showWorkflow(db, id);
    if (workflow === undefined) throw noSuchWorkflow(id);
    await context.output.answer(workflow, async (screen) => {
      const { formatWorkflow } = await import('../../present/format-workflow.ts');
      return formatWorkflow(workflow, screen);
    });
    const due = workflow.steps.filter(isDue).map((step) => step.task_id);
    await noteWaits(context, firstOf(due), 'awaited');
  },
};

function isDue({ status, due_at: dueAt }: ShownStep): boolean {
  return status === 'pending' && dueAt !== null && Date.parse(dueAt) <= Date.now();
}

const ABOUT = `
A step is listed below its first parent; NOTE names the others, what it waits for, or why it died. Of many similar
steps only three are shown, of a long chain only its ends; --json and taskq list --workflow <id> have all.

Columns:
  STATUS  that of its task: blocked if it waits for its parents, or for a slot of its group
  FAILED  failed attempts
  TOOK    how long its last attempt took, or has taken so far`;
