import { getDefaults } from '../../../queue/defaults.ts';
import type { CliCommand } from '../../command.ts';
import { formatSettings } from '../../format-settings.ts';

/** `taskq defaults show` */
export const defaultsShow: CliCommand = {
  async run(context) {
    const settings = await getDefaults(await context.database());
    await context.output.answer({ settings }, (screen) => formatSettings(settings, screen));
  },
};
