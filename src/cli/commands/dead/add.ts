import { badOption } from '../../../lib/bad-option.ts';
import { TaskqError } from '../../../lib/errors.ts';
import { addDead as addDeadLetter } from '../../../queue/operate/add-dead.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActor } from '../../run/operator.ts';
import { parseId } from '../../select/task-filter.ts';

/** `taskq dead add`: make a waiting task a dead letter, or change the reason of a dead one. */
export const addDead: CliCommand<ActingOptions & { readonly reason: string }> = {
  declare(command) {
    declareActor(
      command
        .argument('<id>', 'id of the task')
        .requiredOption('--reason <text>', 'reason for the record, shown with the task'),
    ).addHelpText(
      'after',
      `
A dead letter added by hand stays until it is revived or discarded by its id or with --by-hand. Bulk commands skip it,
and --dead-retention does not apply to it.`,
    );
  },
  async run(context, { args, options }) {
    const id = parseId(args[0]!);
    const reason = options.reason.trim();
    if (reason === '') throw badOption('--reason: expected a text');
    const acting = await actingOf(options);
    const answer = await addDeadLetter(await context.database(), id, reason, acting);
    if (answer === 'held') {
      throw new TaskqError('held', `task ${id} is held by a worker`, {
        hint: `cancel it first: taskq cancel ${id}`,
      });
    }
    if (answer === 'not_live') throw new TaskqError('not_live', `task ${id} has finished or does not exist`);
    await context.output.answer({ id, status: answer, reason }, () => `${id} is a dead letter: ${reason}`);
  },
};
