import { probeAfterMs } from '../../../domain/breaker.ts';
import { checkedName } from '../../../domain/names.ts';
import { TYPE_SETTINGS } from '../../../domain/setting-tables.ts';
import { badOption } from '../../../lib/bad-option.ts';
import { shown } from '../../../lib/shown.ts';
import { getType } from '../../../queue/inspect/get-type.ts';
import { setType } from '../../../queue/operate/set-type.ts';
import {
  declareSettings,
  readSettings,
  type SettingOptions,
  settingSuggestions,
} from '../../input/setting-options.ts';
import { formatSettings } from '../../present/format-settings.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { acceptedTypes, newTypeNote, noteUnusedQueues, unknownQueues } from '../../select/misspelt.ts';

interface ProbeOptions {
  readonly probeAfter?: string;
}

/** `taskq types set`: settings for the tasks of a type that override those of workers. */
export const typesSet: CliCommand<SettingOptions & ActingOptions & ProbeOptions> = {
  suggestions: { ...settingSuggestions(TYPE_SETTINGS), probeAfter: ['30s', 'none'] },
  declare(command) {
    declareSettings(command.argument('<type>', 'its name'), TYPE_SETTINGS, {
      breaker: [
        '--probe-after <duration|none>',
        'with --breaker: try a task this long after the last failure; default 30s; none: not before taskq types resume',
      ],
    });
    declareActing(command).addHelpText(
      'after',
      `
Overrides the options of the type's handler and of the configuration of workers; options of a task override these. The
value default, as in --timeout default, removes a setting. An unknown type becomes known, and stderr says so.

--breaker 5/1m stops a type whose handlers failed five times within a minute, timeouts and crashes included: no task of
it starts, and no attempt is spent. After --probe-after one task tries, with one of its attempts. If it completes, all
others follow; if it fails, the next one tries after the same time. taskq types resume ends it at once.`,
    );
  },
  async run(context, { args, options }) {
    const name = checkedName('type', args[0]!);
    const settings = settingsOf(options);
    const acting = await actingOf(options);
    const db = await context.database();
    const accepted = await acceptedTypes(context);
    await setType(db, name, settings, acting);
    if (!accepted.includes(name)) context.output.talk(newTypeNote(name, accepted));
    if (typeof settings.queue === 'string')
      await noteUnusedQueues(context.output, db, await unknownQueues(db, [settings.queue]));
    const applies = (await getType(db, name)) ?? {};
    if (Object.keys(applies).length === 0) context.output.talk(`type ${shown(name)} has no settings`);
    await context.output.answer({ name, settings: applies }, (screen) => formatSettings(applies, screen));
  },
};

function settingsOf(options: SettingOptions & ProbeOptions): Readonly<Record<string, unknown>> {
  const { probeAfter, breaker: given } = options;
  if (probeAfter !== undefined && (given === undefined || given === 'default'))
    throw badOption(`--probe-after ${JSON.stringify(probeAfter)}: give it with --breaker, such as 5/1m`);
  const settings = readSettings(options, TYPE_SETTINGS);
  if (probeAfter === undefined) return settings;
  const breaker = settings.breaker as object;
  return { ...settings, breaker: { ...breaker, probe_after_ms: probeAfterMs(probeAfter, '--probe-after') } };
}
