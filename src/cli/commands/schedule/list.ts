import { allSchedules } from '../../../queue/operate/schedules.ts';
import type { CliCommand } from '../../run/command.ts';

/** `taskq schedule list` */
export const scheduleList: CliCommand = {
  declare(command) {
    command.addHelpText('after', COLUMNS);
  },
  async run(context) {
    const db = await context.database();
    const schedules = await allSchedules(db);
    await context.output.answer({ schedules }, async (screen) => {
      const { formatSchedules } = await import('../../present/format-schedules.ts');
      return formatSchedules(schedules, screen);
    });
    if (schedules.length === 0 && context.output.format === 'text')
      context.output.talk('there is no schedule');
  },
};

const COLUMNS = `
Columns:
  NEXT    when its next tick is due
  LAST    when its last tick was due
  TASK    the id of the task that it enqueued last
  STATUS  the status of that task; not replaced: the last tick could not replace it`;
