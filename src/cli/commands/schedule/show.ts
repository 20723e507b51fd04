import { checkedName } from '../../../domain/names.ts';
import { listSchedules } from '../../../queue/inspect/list-schedules.ts';
import type { CliCommand } from '../../run/command.ts';
import { noSuchSchedule } from '../../select/no-such-schedule.ts';

/** `taskq schedule show` */
export const scheduleShow: CliCommand = {
  declare(command) {
    command.argument('<name>', 'its name');
  },
  async run(context, { args }) {
    const name = checkedName('schedule', args[0]!);
    const db = await context.database();
    const [schedule] = await listSchedules(db, { name });
    if (schedule === undefined) throw await noSuchSchedule(db, name);
    await context.output.answer(schedule, async (screen) => {
      const { formatSchedule } = await import('../../present/format-schedule.ts');
      return formatSchedule(schedule, screen);
    });
  },
};
