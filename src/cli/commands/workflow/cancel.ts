import { checkedWorkflowId } from '../../../domain/task-id.ts';
import { parseDuration } from '../../../lib/duration.ts';
import { EXIT, TaskqError } from '../../../lib/errors.ts';
import { cancelWorkflow } from '../../../queue/operate/cancel-workflow.ts';
import { WORKFLOW_ENDS } from '../../../queue/protocol/get-workflow-ends.ts';
import type { CliCommand } from '../../run/command.ts';
import type { Context } from '../../run/context.ts';
import { type ActingOptions, actingOf, declareActor } from '../../run/operator.ts';
import { openWaiter } from '../../select/wait-for-ends.ts';
import { noSuchWorkflow } from '../../workflow/no-such-workflow.ts';

interface CancelOptions extends ActingOptions {
  readonly reason?: string;
  readonly wait?: string;
}

/** `taskq workflow cancel`: cancel the steps that have not ended. */
export const workflowCancel: CliCommand<CancelOptions> = {
  declare(command) {
    declareActor(command.argument('<id>', 'id of the workflow'))
      .option('--reason <text>', 'reason for the record, shown with the workflow')
      .option('--wait <duration>', 'how long to wait for running steps to end (45s); 0s does not wait')
      .addHelpText('after', ABOUT);
  },
  async run(context, { args, options }) {
    const id = checkedWorkflowId(args[0]!);
    const waitMs = options.wait === undefined ? USUAL_WAIT_MS : parseDuration(options.wait, '--wait');
    const acting = await actingOf(options);
    const db = await context.database();
    const { answer, state } = await cancelWorkflow(db, id, {
      ...acting,
      reason: options.reason?.trim() || null,
    });
    if (answer === 'not_live' && state === null) throw noSuchWorkflow(id);
    if (answer === 'not_live')
      throw new TaskqError('workflow_ended', `workflow ${id} has already ended: ${state}`, {
        hint: `see taskq workflow show ${id}`,
      });
    const isCancelled = answer === 'cancelled' || (waitMs > 0 && (await hasEnded(context, id, waitMs)));
    const document = { id, answer: isCancelled ? 'cancelled' : 'requested' };
    await context.output.answer(document, () =>
      isCancelled
        ? `workflow ${id} is cancelled`
        : `asked the workers to cancel the running steps of workflow ${id}`,
    );
    return isCancelled || waitMs === 0 ? EXIT.done : EXIT.deadline;
  },
};

/** With the default lease and grace, tasks have ended this long after their worker died or was asked to cancel them. */
const USUAL_WAIT_MS = 45_000;

async function hasEnded(context: Context, id: string, limitMs: number): Promise<boolean> {
  const waiter = await openWaiter(context, WORKFLOW_ENDS);
  try {
    return (await waiter.wait(id, { timeoutMs: limitMs })).kind !== 'deadline';
  } finally {
    await waiter.close(new Error('the wait is over'));
  }
}

const ABOUT = `
Cancels waiting steps at once, asks the handlers of running ones to end, and closes the workflow.

Exit codes: 0 it is cancelled; 1 it had already ended; 4 steps still run after --wait. With --wait 0s the command only
requests the cancellation of running steps, and exits with 0.`;
