import { allSchedules } from '../../../queue/operate/schedules.ts';
import type { CliCommand } from '../../run/command.ts';

/** `taskq schedule list` */
export const scheduleList: CliCommand = {
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
