import { checkedName } from '../../../domain/names.ts';
import { resumeQueue } from '../../../queue/pause-queue.ts';
import type { CliCommand } from '../../command.ts';
import { printable } from '../../printable.ts';

/** `taskq queues resume`: a paused queue goes on. */
export const queuesResume: CliCommand = {
  declare(command) {
    command.argument('<queue>', 'its name');
  },
  async run(context, { args }) {
    const name = checkedName('queue', args[0]!);
    const resumed = await resumeQueue(await context.database(), name);
    await context.output.answer({ name, resumed }, () =>
      resumed ? `${printable(name)} goes on` : `${printable(name)} is not paused`,
    );
  },
};
