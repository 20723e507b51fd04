import { checkedWorkflowId } from '../../../domain/task-id.ts';
import { countOf } from '../../../lib/count.ts';
import { EXIT } from '../../../lib/errors.ts';
import { type RetriedStep, retryWorkflow } from '../../../queue/operate/retry-workflow.ts';
import { getWorkflowEnds } from '../../../queue/protocol/get-workflow-ends.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { firstOf, noteWaits } from '../../select/note-waits.ts';
import { noSuchWorkflow } from '../../workflow/no-such-workflow.ts';

/** `taskq workflow retry`: run the steps that have died again. */
export const workflowRetry: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<id>', 'id of the workflow')).addHelpText('after', ABOUT);
  },
  async run(context, { args, options }) {
    const id = checkedWorkflowId(args[0]!);
    const acting = await actingOf(options);
    const db = await context.database();
    const steps = await retryWorkflow(db, id, acting);
    if (steps.length === 0 && (await getWorkflowEnds(db, [id])).length === 0) throw noSuchWorkflow(id);
    const left = steps.filter(({ answer }) => answer !== 'retried');
    const back = steps.filter(({ answer }) => answer === 'retried');
    const retried = back.filter(({ step }) => step !== null).length;
    await context.output.answer({ id, retried, left }, () =>
      steps.length === 0 ? `no step of workflow ${id} has died` : backText(retried, back),
    );
    if (context.output.format === 'text')
      for (const step of left) context.output.complain(`taskq: ${printable(leftText(step))}`);
    await noteWaits(context, firstOf(back.map((step) => step.task_id)), 'due');
    return left.length === 0 ? EXIT.done : EXIT.failed;
  },
};

function backText(retried: number, back: readonly RetriedStep[]): string {
  const steps = `retried ${countOf(retried, 'step')}`;
  const next = back.find(({ step }) => step === null);
  if (next === undefined) return steps;
  const adds = `task ${next.task_id} adds the next step`;
  return retried === 0 ? adds : `${steps}; ${adds}`;
}

function leftText({ step, task_id, answer, key, holder, error }: RetriedStep): string {
  const by = holder === null ? 'another task' : `task ${holder}`;
  const which = step === null ? `task ${task_id}, which adds steps,` : `step ${step}`;
  switch (answer) {
    case 'ending':
      return `${which} still runs: it goes on unless its handler ends because it was asked to; then retry again`;
    case 'key_held':
      return `${which} was not retried: ${by} holds its key ${JSON.stringify(key)}`;
    case 'gone':
      return `${which} was not retried: nothing is known of task ${task_id} any longer`;
    default:
      return `${which} was not retried: ${error}`;
  }
}

const ABOUT = `
Dead, cancelled and expired steps return under their ids, with all attempts again, not before the time asked for; those
whose parents return wait for them again. Completed steps keep their results. Steps below one that cannot return are
cancelled again. The cancel request of a running step is withdrawn, but its handler may already have been asked to end.
A workflow that was cancelled while open, or that its task of onStep closed, is open again, and that task runs again.

Exit codes: 0 all have returned, or there were none; 1 some could not return, or are still ending.`;
