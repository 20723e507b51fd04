import { checkedName } from '../../../domain/names.ts';
import { removeSchedule } from '../../../queue/operate/schedules.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { noSuchSchedule } from '../../select/no-such-schedule.ts';

/** `taskq schedule remove` */
export const scheduleRemove: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<name>', 'its name')).addHelpText(
      'after',
      `
The tasks that it has enqueued stay. If a worker's configuration defines the schedule, the next worker that starts
adds it again.`,
    );
  },
  async run(context, { args, options }) {
    const name = checkedName('schedule', args[0]!);
    const acting = await actingOf(options);
    const db = await context.database();
    if (!(await removeSchedule(db, name, acting))) throw await noSuchSchedule(db, name);
    await context.output.answer({ name, removed: true }, () => `schedule ${printable(name)} is removed`);
  },
};
