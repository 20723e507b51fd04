import { checkedName } from '../../../domain/names.ts';
import { pauseSchedule } from '../../../queue/operate/schedules.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActor } from '../../run/operator.ts';
import { noSuchSchedule } from '../../select/no-such-schedule.ts';

interface PauseOptions extends ActingOptions {
  readonly reason?: string;
}

/** `taskq schedule pause` */
export const schedulePause: CliCommand<PauseOptions> = {
  declare(command) {
    declareActor(command.argument('<name>', 'its name'))
      .option('--reason <text>', 'reason for the record, shown with the schedule')
      .addHelpText('after', '\nTicks during the pause never fire, not even later. Its tasks continue.');
  },
  async run(context, { args, options }) {
    const name = checkedName('schedule', args[0]!);
    const acting = await actingOf(options);
    const db = await context.database();
    const reason = options.reason?.trim() || null;
    if (!(await pauseSchedule(db, name, { ...acting, reason }))) throw await noSuchSchedule(db, name);
    await context.output.answer({ name, paused: true }, () => `schedule ${printable(name)} is paused`);
  },
};
