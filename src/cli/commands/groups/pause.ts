import { checkedName } from '../../../domain/names.ts';
import { pauseGroup } from '../../../queue/operate/groups.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActor } from '../../run/operator.ts';
import { noteGroup } from '../../select/note-group.ts';

interface PauseOptions extends ActingOptions {
  readonly reason?: string;
}

/** `taskq groups pause`: start no more tasks of the group. */
export const groupsPause: CliCommand<PauseOptions> = {
  declare(command) {
    declareActor(command.argument('<queue>', 'queue of the group').argument('<group>', 'its name'))
      .option('--reason <text>', 'reason for the record, shown with the group')
      .addHelpText(
        'after',
        '\nRunning tasks continue. Pausing a paused group replaces the name and the reason.',
      );
  },
  async run(context, { args, options }) {
    const queue = checkedName('queue', args[0]!);
    const group = checkedName('group', args[1]!);
    const reason = options.reason?.trim() || null;
    const acting = await actingOf(options);
    const db = await context.database();
    await pauseGroup(db, queue, group, { ...acting, reason });
    await noteGroup(context.output, db, queue, group);
    await context.output.answer(
      { queue, group, paused: true },
      () => `group ${printable(group)} of queue ${printable(queue)} is paused`,
    );
  },
};
