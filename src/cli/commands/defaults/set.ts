import { getDefaults, setDefaults } from '../../../queue/operate/defaults.ts';
import {
  declareSettings,
  readSettings,
  type SettingName,
  type SettingOptions,
  settingSuggestions,
} from '../../input/setting-options.ts';
import { formatSettings } from '../../present/format-settings.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';

const SETTINGS: readonly SettingName[] = [
  'maxAttempts',
  'timeout',
  'expires',
  'backoff',
  'retention',
  'errorsRetention',
  'deadRetention',
];

/** `taskq defaults set`: override the defaults of workers. */
export const defaultsSet: CliCommand<SettingOptions & ActingOptions> = {
  suggestions: settingSuggestions(SETTINGS),
  declare(command) {
    declareActing(declareSettings(command, SETTINGS)).addHelpText(
      'after',
      `
Overrides what the configuration of workers sets for all tasks. The value default, as in --timeout default, removes a
setting. Options of a task, its type or its queue override defaults, in this order.`,
    );
  },
  async run(context, { options }) {
    const changes = readSettings(options, SETTINGS);
    const by = await actingOf(options);
    const db = await context.database();
    await setDefaults(db, changes, { by });
    const settings = await getDefaults(db);
    await context.output.answer({ settings }, (screen) => formatSettings(settings, screen));
  },
};
