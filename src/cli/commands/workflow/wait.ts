import { checkedWorkflowId } from '../../../domain/task-id.ts';
import { parseDuration } from '../../../lib/duration.ts';
import type { CliCommand } from '../../run/command.ts';

/** `taskq workflow wait`: wait until a workflow has ended. */
export const workflowWait: CliCommand<{ readonly timeout?: string }> = {
  declare(command) {
    command
      .argument('<id>', 'id of the workflow')
      .option('--timeout <duration>', 'how long to wait (forever)')
      .addHelpText('after', ABOUT);
  },
  async run(context, { args, options }) {
    const id = checkedWorkflowId(args[0]!);
    const { timeout } = options;
    const limitMs = timeout === undefined ? Number.POSITIVE_INFINITY : parseDuration(timeout, '--timeout');
    const { waitForWorkflow } = await import('../../workflow/wait-for-workflow.ts');
    return waitForWorkflow(context, id, limitMs);
  },
};

const ABOUT = `
Prints its state. Exit codes: 0 completed; 1 failed or cancelled; 4 it has not ended in time. An open workflow does not
end before taskq workflow close, and a stuck one not before taskq workflow retry or cancel, or a revive.`;
