import { TaskqError } from '../../../lib/errors.ts';
import { addDead as addDeadLetter } from '../../../queue/add-dead.ts';
import type { CliCommand } from '../../command.ts';
import { badOption, parseId } from '../../task-filter.ts';

/** `taskq dead add`: put a waiting task aside, or say something else of a dead one. */
export const addDead: CliCommand<{ readonly reason: string }> = {
  declare(command) {
    command
      .argument('<id>', 'the number of the task')
      .requiredOption('--reason <text>', 'why, for those who look at it later');
  },
  async run(context, { args, options }) {
    const id = parseId(args[0]!);
    const reason = options.reason.trim();
    if (reason === '') throw badOption('--reason: expected a text');
    const answer = await addDeadLetter(await context.database(), id, reason);
    if (answer === 'held') {
      throw new TaskqError('held', `task ${id} is running`, { hint: `cancel it first: taskq cancel ${id}` });
    }
    if (answer === 'not_live') throw new TaskqError('not_live', `task ${id} is finished, or was never there`);
    await context.output.answer({ id, status: answer, reason }, () => `${id} is a dead letter: ${reason}`);
  },
};
