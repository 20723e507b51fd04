import { checkedOperationId } from '../../../domain/task-id.ts';
import { TaskqError } from '../../../lib/errors.ts';
import { stopOperation } from '../../../queue/operate/operations.ts';
import { noSuchOperation } from '../../operations/no-such-operation.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActor } from '../../run/operator.ts';

interface StopOptions extends ActingOptions {
  readonly reason?: string;
}

/** `taskq operations stop`: stop an operation; what it has done stays done. */
export const operationsStop: CliCommand<StopOptions> = {
  declare(command) {
    declareActor(command.argument('<id>', 'id of the operation')).option(
      '--reason <text>',
      'reason for the record, shown with the operation',
    );
  },
  async run(context, { args, options }) {
    const id = checkedOperationId(args[0]!);
    const acting = await actingOf(options);
    const reason = options.reason?.trim() || undefined;
    const { answer, state } = await stopOperation(await context.database(), id, { ...acting, reason });
    if (answer === 'not_running' && state === null) throw noSuchOperation(id);
    if (answer === 'not_running')
      throw new TaskqError('operation_ended', `operation ${id} has already ended: ${state}`, {
        hint: `see taskq operations show ${id}`,
      });
    await context.output.answer({ id, answer }, () => `operation ${id} is stopped`);
  },
};
