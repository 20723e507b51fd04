import { checkedWorkflowId } from '../../../domain/task-id.ts';
import { countOf } from '../../../lib/count.ts';
import { EXIT } from '../../../lib/errors.ts';
import { type RetriedStep, retryWorkflow } from '../../../queue/operate/retry-workflow.ts';
import { getWorkflowEnds } from '../../../queue/protocol/get-workflow-ends.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { noSuchWorkflow } from '../../workflow/no-such-workflow.ts';

/** `taskq workflow retry`: run the steps that have died again. */
export const workflowRetry: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<id>', 'id of the workflow')).addHelpText('after', ABOUT);
  },
  async run(context, { args, options }) {
    const id = checkedWorkflowId(args[0]!);
    const by = await actingOf(options);
    const db = await context.database();
    const steps = await retryWorkflow(db, id, { by });
    if (steps.length === 0 && (await getWorkflowEnds(db, [id])).length === 0) throw noSuchWorkflow(id);
    const left = steps.filter(({ answer }) => answer !== 'retried');
    const retried = steps.length - left.length;
    await context.output.answer({ id, retried, left }, () =>
      steps.length === 0 ? `no step of workflow ${id} has died` : `retried ${countOf(retried, 'step')}`,
    );
    if (context.output.format === 'text')
      for (const step of left) context.output.complain(`taskq: ${printable(leftText(step))}`);
    return left.length === 0 ? EXIT.done : EXIT.failed;
  },
};

function leftText({ step, task_id, answer, key, holder, error }: RetriedStep): string {
  const by = holder === null ? 'another task' : `task ${holder}`;
  switch (answer) {
    case 'ending':
      return `step ${step} still runs: it goes on unless its handler ends because it was asked to; then retry again`;
    case 'key_held':
      return `step ${step} was not retried: ${by} holds its key ${JSON.stringify(key)}`;
    case 'gone':
      return `step ${step} was not retried: nothing is known of task ${task_id} any longer`;
    default:
      return `step ${step} was not retried: ${error}`;
  }
}

const ABOUT = `
Dead, cancelled and expired steps return under their ids, with all attempts again and without their delay; those whose
parents return wait for them again. Completed steps keep their results. Steps below one that cannot return are
cancelled again. A step that still runs is no longer to be cancelled; but its handler may have been asked to end.

Exit codes: 0 all have returned, or there were none; 1 some could not return, or still end.`;
