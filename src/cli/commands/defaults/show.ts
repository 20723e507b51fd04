import { getDefaults } from '../../../queue/operate/defaults.ts';
import { formatSettings } from '../../present/format-settings.ts';
import type { CliCommand } from '../../run/command.ts';

/** `taskq defaults show` */
export const defaultsShow: CliCommand = {
  async run(context) {
    const settings = await getDefaults(await context.database());
    await context.output.answer({ settings }, (screen) => formatSettings(settings, screen));
  },
};
