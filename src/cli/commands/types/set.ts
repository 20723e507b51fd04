import { checkedName } from '../../../domain/names.ts';
import { getType } from '../../../queue/inspect/get-type.ts';
import { setType } from '../../../queue/operate/set-type.ts';
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
import { acceptedTypes, newTypeNote, noteUnusedQueues, unknownQueues } from '../../select/misspelt.ts';

const SETTINGS: readonly SettingName[] = [
  'maxAttempts',
  'timeout',
  'expires',
  'backoff',
  'retention',
  'queue',
  'priority',
];

/** `taskq types set`: settings for the tasks of a type that override those of workers. */
export const typesSet: CliCommand<SettingOptions & ActingOptions> = {
  suggestions: settingSuggestions(SETTINGS),
  declare(command) {
    declareActing(declareSettings(command.argument('<type>', 'its name'), SETTINGS)).addHelpText(
      'after',
      `
Overrides the options of the type's handler and of the configuration of workers; options of a task override these. The
value default, as in --timeout default, removes a setting. An unknown type becomes known, and stderr says so.`,
    );
  },
  async run(context, { args, options }) {
    const name = checkedName('type', args[0]!);
    const settings = readSettings(options, SETTINGS);
    const by = await actingOf(options);
    const db = await context.database();
    const accepted = await acceptedTypes(context);
    await setType(db, name, settings, { by });
    if (!accepted.includes(name)) context.output.talk(newTypeNote(name, accepted));
    if (typeof settings.queue === 'string')
      await noteUnusedQueues(context.output, db, await unknownQueues(db, [settings.queue]));
    const applies = (await getType(db, name)) ?? {};
    await context.output.answer({ name, settings: applies }, (screen) => formatSettings(applies, screen));
  },
};
