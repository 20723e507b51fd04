import { checkedName } from '../../../domain/names.ts';
import { listGroups } from '../../../queue/inspect/list-groups.ts';
import type { CliCommand } from '../../run/command.ts';
import { noteUnusedQueues, unknownQueues } from '../../select/misspelt.ts';
import { parseLimit } from '../../select/task-filter.ts';

interface ListOptions {
  readonly limit: string;
  readonly after?: string;
  readonly stopped?: true;
}

const MOST = 10_000;

/** `taskq groups list`: groups that have tasks, a setting of their own or a pause. */
export const groupsList: CliCommand<ListOptions> = {
  declare(command) {
    command
      .argument('<queue>', 'queue of the groups')
      .option('--limit <n>', `at most this many, up to ${MOST}`, '100')
      .option('--after <group>', 'only groups after this one')
      .option('--stopped', 'only groups that are paused, held at a dead letter, or put off by a task')
      .addHelpText('after', COLUMNS);
  },
  async run(context, { args, options }) {
    const queue = checkedName('queue', args[0]!);
    const limit = parseLimit(options.limit, MOST);
    const db = await context.database();
    const { after, stopped } = options;
    const groups = await listGroups(db, queue, { limit, after, stopped });
    await context.output.answer({ groups }, async (screen) => {
      const { formatGroups } = await import('../../present/format-groups.ts');
      return formatGroups(groups, screen);
    });
    if (groups.length > 0) return;
    if (context.output.format !== 'json')
      context.output.talk(
        stopped
          ? 'no group of this queue is stopped'
          : 'no group of this queue has a live task, a setting of its own or a pause',
      );
    await noteUnusedQueues(context.output, db, await unknownQueues(db, [queue]));
  },
};

const COLUMNS = `
Columns:
  SLOTS      tasks that may have a slot at a time; - is any number, 0 a group that is
             stopped
  RATE       rate at which tasks get slots, and how many get one at once after a pause
  HOLDING    tasks that have a slot
  WAITING    tasks that wait for a slot
  DELAYED    tasks that wait for their time, and then for a slot
  STOPPED    a pause, the dead letter at which it is held, or the task that snoozed it`;
