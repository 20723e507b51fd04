import { checkedName } from '../../../domain/names.ts';
import { resumeQueue } from '../../../queue/operate/pause-queue.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { noteUnusedQueues, unknownQueues } from '../../select/misspelt.ts';

/** `taskq queues resume`: resume a paused queue. */
export const queuesResume: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<queue>', 'its name'));
  },
  async run(context, { args, options }) {
    const name = checkedName('queue', args[0]!);
    const db = await context.database();
    const resumed = await resumeQueue(db, name, await actingOf(options));
    if (!resumed) await noteUnusedQueues(context.output, db, await unknownQueues(db, [name]));
    await context.output.answer({ name, resumed }, () =>
      resumed ? `${printable(name)} is resumed` : `${printable(name)} is not paused`,
    );
  },
};
