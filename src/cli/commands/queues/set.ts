import { checkedName } from '../../../domain/names.ts';
import { QUEUE_SETTINGS } from '../../../domain/setting-tables.ts';
import type { Database } from '../../../lib/database.ts';
import { countUngrouped } from '../../../queue/inspect/count-ungrouped.ts';
import { listQueues } from '../../../queue/inspect/list-queues.ts';
import { setQueue } from '../../../queue/operate/set-queue.ts';
import {
  declareSettings,
  readSettings,
  type SettingOptions,
  settingSuggestions,
} from '../../input/setting-options.ts';
import { waitingText } from '../../present/count.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import type { Output } from '../../run/output.ts';
import { noteUnusedQueues, unknownQueues } from '../../select/misspelt.ts';

/** `taskq queues set`: the settings for the tasks of a queue. */
export const queuesSet: CliCommand<SettingOptions & ActingOptions> = {
  suggestions: settingSuggestions(QUEUE_SETTINGS),
  declare(command) {
    declareActing(declareSettings(command.argument('<queue>', 'its name'), QUEUE_SETTINGS)).addHelpText(
      'after',
      `
The value default, as in --timeout default, removes a setting; taskq defaults show prints what then applies. Options of
a task override those of its type, and these override those of its queue.`,
    );
  },
  async run(context, { args, options }) {
    const name = checkedName('queue', args[0]!);
    const settings = readSettings(options, QUEUE_SETTINGS);
    const acting = await actingOf(options);
    const db = await context.database();
    const unknown = await unknownQueues(db, [name]);
    await setQueue(db, name, settings, acting);
    await noteUnusedQueues(context.output, db, unknown);
    if (settings.group_by === 'type') await noteUngrouped(context.output, db, name);
    const queues = await listQueues(db, { name });
    await context.output.answer(queues[0], async (screen) => {
      const { formatQueues } = await import('../../present/format-queues.ts');
      return formatQueues(queues, screen);
    });
  },
};

/**
 * Report how many waiting tasks stay outside the groups of their types: a task keeps the group it was enqueued with.
 */
async function noteUngrouped({ talk }: Output, db: Database, queue: string): Promise<void> {
  const counted = await countUngrouped(db, queue);
  if (counted.waiting === 0) return;
  const tasks = counted.waiting === 1 && !counted.at_least ? 'waiting task is' : 'waiting tasks are';
  talk(
    `${waitingText(counted)} ${tasks} in no group, and no limit of a type holds for them: queue ${printable(queue)} groups what is enqueued from now on`,
  );
}
