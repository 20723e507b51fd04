import { parseGroupLimit } from '../../../domain/group-settings.ts';
import { checkedName } from '../../../domain/names.ts';
import { badOption } from '../../../lib/bad-option.ts';
import { setGroup } from '../../../queue/operate/groups.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { noteUnusedQueues, unknownQueues } from '../../select/misspelt.ts';

interface SetOptions extends ActingOptions {
  readonly limit?: string;
}

/** `taskq groups set`: the limit of one group. */
export const groupsSet: CliCommand<SetOptions> = {
  suggestions: { limit: ['1', 'default'] },
  declare(command) {
    declareActing(
      command
        .argument('<queue>', 'its name')
        .argument('<group>', 'its name')
        .option('--limit <n>', 'tasks of the group that have a slot at a time; default: as its queue sets'),
    );
  },
  async run(context, { args, options }) {
    const queue = checkedName('queue', args[0]!);
    const group = checkedName('group', args[1]!);
    if (options.limit === undefined) throw badOption('nothing to set: give --limit 1');
    const most = options.limit === 'default' ? null : parseGroupLimit(options.limit, '--limit');
    const by = await actingOf(options);
    const db = await context.database();
    await setGroup(db, queue, group, { limit: most }, { by });
    await noteUnusedQueues(context.output, db, await unknownQueues(db, [queue]));
    await context.output.answer({ queue, group, limit: most }, () =>
      most === null
        ? `the limit of queue ${printable(queue)} applies to group ${printable(group)}`
        : `group ${printable(group)} of queue ${printable(queue)} has a limit of ${most}`,
    );
  },
};
