import { DEFAULT_SETTINGS } from '../../../domain/setting-tables.ts';
import { getDefaults, setDefaults } from '../../../queue/operate/defaults.ts';
import {
  declareSettings,
  readSettings,
  type SettingOptions,
  settingSuggestions,
} from '../../input/setting-options.ts';
import { formatSettings } from '../../present/format-settings.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';

/** `taskq defaults set`: override the defaults of workers. */
export const defaultsSet: CliCommand<SettingOptions & ActingOptions> = {
  suggestions: settingSuggestions(DEFAULT_SETTINGS),
  declare(command) {
    declareActing(declareSettings(command, DEFAULT_SETTINGS)).addHelpText(
      'after',
      `
Overrides what the configuration of workers sets for all tasks. The value default, as in --timeout default, removes a
setting. Options of a task, its type or its queue override defaults, in this order.`,
    );
  },
  async run(context, { options }) {
    const changes = readSettings(options, DEFAULT_SETTINGS);
    const acting = await actingOf(options);
    const db = await context.database();
    await setDefaults(db, changes, acting);
    const settings = await getDefaults(db);
    await context.output.answer({ settings }, (screen) => formatSettings(settings, screen));
  },
};
