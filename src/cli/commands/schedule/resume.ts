import { checkedName } from '../../../domain/names.ts';
import { listSchedules } from '../../../queue/inspect/list-schedules.ts';
import { resumeSchedule } from '../../../queue/operate/schedules.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { noSuchSchedule } from '../../select/no-such-schedule.ts';

/** `taskq schedule resume` */
export const scheduleResume: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<name>', 'its name'));
  },
  async run(context, { args, options }) {
    const name = checkedName('schedule', args[0]!);
    const acting = await actingOf(options);
    const db = await context.database();
    const resumed = await resumeSchedule(db, name, acting);
    if (!resumed && (await listSchedules(db, { name })).length === 0) throw await noSuchSchedule(db, name);
    await context.output.answer({ name, resumed }, () =>
      resumed ? `schedule ${printable(name)} is resumed` : `schedule ${printable(name)} is not paused`,
    );
  },
};
