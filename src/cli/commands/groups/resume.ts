import { checkedName } from '../../../domain/names.ts';
import { resumeGroup } from '../../../queue/operate/groups.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { noteGroup } from '../../select/note-group.ts';

/** `taskq groups resume`: resume a paused group. */
export const groupsResume: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<queue>', 'queue of the group').argument('<group>', 'its name'));
  },
  async run(context, { args, options }) {
    const queue = checkedName('queue', args[0]!);
    const group = checkedName('group', args[1]!);
    const acting = await actingOf(options);
    const db = await context.database();
    const resumed = await resumeGroup(db, queue, group, acting);
    await noteGroup(context.output, db, queue, group);
    await context.output.answer({ queue, group, resumed }, () =>
      resumed ? `group ${printable(group)} is resumed` : `group ${printable(group)} is not paused`,
    );
  },
};
