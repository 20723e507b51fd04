import { checkedName } from '../../../domain/names.ts';
import { runSchedule } from '../../../queue/operate/schedules.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { noSuchSchedule } from '../../select/no-such-schedule.ts';
import { firstOf, noteWaits } from '../../select/note-waits.ts';

/** `taskq schedule run`: enqueue its task now. */
export const scheduleRun: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<name>', 'its name')).addHelpText(
      'after',
      `
Prints the id of the task, which has no tick; a paused schedule runs too. If the task of an earlier tick is live and
--overlap of the schedule is not allow, prints the id of that task.`,
    );
  },
  async run(context, { args, options }) {
    const name = checkedName('schedule', args[0]!);
    const acting = await actingOf(options);
    const db = await context.database();
    const made = await runSchedule(db, name, acting);
    if (made === undefined) throw await noSuchSchedule(db, name);
    const { id, created, error } = made;
    if (!created) context.output.talk(error ?? `task ${id} of schedule ${printable(name)} is live`);
    await context.output.answer({ name, id, created }, () => id);
    await noteWaits(context, firstOf([id]), 'due');
  },
};
