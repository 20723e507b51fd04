import { TaskqError } from '../../../lib/errors.ts';
import { addDead as addDeadLetter } from '../../../queue/add-dead.ts';
import type { CliCommand } from '../../command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../operator.ts';
import { badOption, parseId } from '../../task-filter.ts';

/** `taskq dead add`: put a waiting task aside, or say something else of a dead one. */
export const addDead: CliCommand<ActingOptions & { readonly reason: string }> = {
  declare(command) {
    declareActing(
      command
        .argument('<id>', 'the number of the task')
        .requiredOption('--reason <text>', 'why, for those who look at it later'),
    ).addHelpText(
      'after',
      `
What is put away by hand stays until it is revived or discarded by its id, or with --by-hand: no bulk takes it along,
and no --dead-retention ends it.`,
    );
  },
  async run(context, { args, options }) {
    const id = parseId(args[0]!);
    const reason = options.reason.trim();
    if (reason === '') throw badOption('--reason: expected a text');
    const by = await actingOf(options);
    const answer = await addDeadLetter(await context.database(), id, reason, { by });
    if (answer === 'held') {
      throw new TaskqError('held', `task ${id} is running`, { hint: `cancel it first: taskq cancel ${id}` });
    }
    if (answer === 'not_live') throw new TaskqError('not_live', `task ${id} is finished, or was never there`);
    await context.output.answer({ id, status: answer, reason }, () => `${id} is a dead letter: ${reason}`);
  },
};
