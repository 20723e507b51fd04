import { checkedOperationId } from '../../../domain/task-id.ts';
import { followOperation } from '../../operations/follow-operation.ts';
import type { CliCommand } from '../../run/command.ts';

/** `taskq operations wait`: follow an operation until it has ended. */
export const operationsWait: CliCommand = {
  declare(command) {
    command.argument('<id>', 'id of the operation').addHelpText('after', ABOUT);
  },
  async run(context, { args }) {
    return followOperation(context, checkedOperationId(args[0]!));
  },
};

const ABOUT = `
Shows its progress, and carries it out itself if no worker does. Exit codes: 0 it has completed and no task failed; 1 a
task failed, or it was stopped. Ctrl-C ends the command, not the operation.`;
