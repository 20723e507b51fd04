import { newScheduleOf } from '../../../domain/schedule/definition.ts';
import { badOption } from '../../../lib/bad-option.ts';
import { didYouMean } from '../../../lib/nearest.ts';
import { type SyncAnswer, syncSchedules } from '../../../queue/operate/schedules.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { acceptedTypes } from '../../select/misspelt.ts';

interface SyncOptions extends ActingOptions {
  readonly prune?: true;
}

/** `taskq schedule sync`: make the schedules match the configuration. */
export const scheduleSync: CliCommand<SyncOptions> = {
  declare(command) {
    declareActing(
      command.option('--prune', 'remove the schedules that the configuration does not have'),
    ).addHelpText(
      'after',
      `
Adds and changes what differs; pauses stay. Workers only add schedules of their configuration that do not exist: run
this where you deploy, and the file is the truth. A type that no worker has registered is accepted, and noted on stderr:
its handler may come with the same deployment.`,
    );
  },
  async run(context, { options }) {
    const { schedules } = (await context.config()).values;
    if (schedules === null)
      throw badOption(
        'the configuration has no schedules',
        'add {"schedules": {"nightly": {"expression": "30 2 * * *", "type": "report"}}}',
      );
    const wanted = Object.entries(schedules).map(([name, schedule]) => newScheduleOf(name, schedule));
    const acting = await actingOf(options);
    const db = await context.database();
    const accepted = await acceptedTypes(context);
    const answers = await syncSchedules(db, wanted, {
      others: options.prune ? 'remove' : 'leave',
      ...acting,
    });
    for (const { name, type } of wanted)
      if (!accepted.includes(type)) context.output.talk(unknownTypeNote(name, type, accepted));
    const list = [...answers].map(([name, answer]) => ({ name, answer }));
    await context.output.answer({ schedules: list }, () =>
      list.map(({ name, answer }) => `${printable(name)}: ${TEXTS[answer]}`).join('\n'),
    );
  },
};

function unknownTypeNote(name: string, type: string, accepted: readonly string[]): string {
  const hint = didYouMean(type, accepted);
  return printable(
    `schedule ${name}: no handler here and no worker knows the type ${JSON.stringify(type)}${hint}: its tasks wait`,
  );
}

const TEXTS: Readonly<Record<SyncAnswer, string>> = {
  added: 'added',
  changed: 'changed',
  unchanged: 'unchanged',
  removed: 'removed',
  left: 'not in the configuration; --prune removes it',
};
