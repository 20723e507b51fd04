import { checkedWorkflowId } from '../../../domain/task-id.ts';
import { closeWorkflow } from '../../../queue/operate/close-workflow.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';

/** `taskq workflow close`: close an open workflow. */
export const workflowClose: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<id>', 'id of the workflow'));
  },
  async run(context, { args, options }) {
    const id = checkedWorkflowId(args[0]!);
    const acting = await actingOf(options);
    const closed = await closeWorkflow(await context.database(), id, acting);
    await context.output.answer({ id, closed }, () =>
      closed ? `workflow ${id} is closed: it ends with its last step` : `workflow ${id} was closed already`,
    );
  },
};
