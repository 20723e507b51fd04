import { checkedName } from '../../../domain/names.ts';
import { getType } from '../../../queue/get-type.ts';
import { setType } from '../../../queue/set-type.ts';
import type { CliCommand } from '../../command.ts';
import { formatSettings } from '../../format-settings.ts';
import { type ActingOptions, actingOf, declareActing } from '../../operator.ts';
import {
  declareSettings,
  readSettings,
  type SettingName,
  type SettingOptions,
  settingSuggestions,
} from '../../setting-options.ts';

const SETTINGS: readonly SettingName[] = [
  'maxAttempts',
  'timeout',
  'expires',
  'backoff',
  'retention',
  'queue',
  'priority',
];

/** `taskq types set`: what applies to the tasks of a type, above what workers say. */
export const typesSet: CliCommand<SettingOptions & ActingOptions> = {
  suggestions: settingSuggestions(SETTINGS),
  declare(command) {
    declareActing(declareSettings(command.argument('<type>', 'its name'), SETTINGS)).addHelpText(
      'after',
      `
It is stronger than what the handler of the type and the configuration of workers say; what a task says itself is
stronger still. The word default, as in --timeout default, takes a setting away. A type that was not known is known
from then on.`,
    );
  },
  async run(context, { args, options }) {
    const name = checkedName('type', args[0]!);
    const settings = readSettings(options, SETTINGS);
    const by = await actingOf(options);
    const db = await context.database();
    await setType(db, name, settings, { by });
    const applies = (await getType(db, name)) ?? {};
    await context.output.answer({ name, settings: applies }, (screen) => formatSettings(applies, screen));
  },
};
