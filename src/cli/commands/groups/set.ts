import { checkedName } from '../../../domain/names.ts';
import { GROUP_SETTINGS } from '../../../domain/setting-tables.ts';
import { badOption } from '../../../lib/bad-option.ts';
import { type GroupSettings, setGroup } from '../../../queue/operate/groups.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { noteGroup } from '../../select/note-group.ts';

interface SetOptions extends ActingOptions {
  readonly limit?: string;
  readonly rate?: string;
  readonly burst?: string;
}

/** `taskq groups set`: the limit and the rate of one group. */
export const groupsSet: CliCommand<SetOptions> = {
  suggestions: { limit: ['1', 'default'], rate: ['10/1s', 'default'], burst: ['1', 'default'] },
  declare(command) {
    declareActing(
      command
        .argument('<queue>', 'queue of the group')
        .argument('<group>', 'its name')
        .option('--limit <n>', 'tasks of the group that have a slot at a time; default: as its queue sets')
        .option(
          '--rate <n/duration>',
          'rate at which tasks of the group get slots, over all workers: 10/1s; default: as its queue sets',
        )
        .option(
          '--burst <n>',
          'how many may get one at once after a pause; needs a rate; default: what that allows in a tenth of a second',
        ),
    );
  },
  async run(context, { args, options }) {
    const queue = checkedName('queue', args[0]!);
    const group = checkedName('group', args[1]!);
    const settings = settingsOf(options);
    const acting = await actingOf(options);
    const db = await context.database();
    await setGroup(db, queue, group, settings, acting);
    await noteGroup(context.output, db, queue, group);
    await context.output.answer({ queue, group, ...settings }, () => whatWasSet(queue, group, settings));
  },
};

function settingsOf(options: SetOptions): GroupSettings {
  const given = (Object.keys(GROUP_SETTINGS) as (keyof typeof GROUP_SETTINGS)[]).filter(
    (name) => options[name] !== undefined,
  );
  if (given.length === 0) throw badOption('nothing to set: give --limit 1 or --rate 10/1s');
  return Object.fromEntries(
    given.map((name) => {
      const text = options[name];
      return [name, text === 'default' ? null : GROUP_SETTINGS[name].parse(text, `--${name}`)];
    }),
  );
}

/** A line for each setting. */
function whatWasSet(queue: string, group: string, { limit, rate, burst }: GroupSettings): string {
  const itsQueue = `queue ${printable(queue)}`;
  const has = `group ${printable(group)} of ${itsQueue} has`;
  const lines: string[] = [];
  if (limit !== undefined)
    lines.push(
      limit === null
        ? `the limit of ${itsQueue} applies to group ${printable(group)}`
        : `${has} a limit of ${limit}`,
    );
  if (rate !== undefined)
    lines.push(
      rate === null
        ? `the rate of ${itsQueue} applies to group ${printable(group)}`
        : `${has} a rate of ${rate}`,
    );
  if (burst !== undefined && rate !== null)
    lines.push(
      burst === null ? `${has} the burst that its rate allows by default` : `${has} a burst of ${burst}`,
    );
  return lines.join('\n');
}
