import { checkedName } from '../../../domain/names.ts';
import { resumeQueue } from '../../../queue/operate/pause-queue.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';

/** `taskq queues resume`: resume a paused queue. */
export const queuesResume: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<queue>', 'its name'));
  },
  async run(context, { args, options }) {
    const name = checkedName('queue', args[0]!);
    const resumed = await resumeQueue(await context.database(), name, {
      by: await actingOf(options),
    });
    await context.output.answer({ name, resumed }, () =>
      resumed ? `${printable(name)} is resumed` : `${printable(name)} is not paused`,
    );
  },
};
