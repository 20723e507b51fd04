import { TaskqError } from '../../../lib/errors.ts';
import { deadRetention } from '../../../queue/inspect/dead-retention.ts';
import { showTask } from '../../../queue/inspect/show-task.ts';
import type { CliCommand } from '../../run/command.ts';
import { parseId } from '../../select/task-filter.ts';
import { noSuchTask } from '../show.ts';

/** `taskq dead show`: one dead letter with every error. */
export const showDead: CliCommand = {
  declare(command) {
    command.argument('<id>', 'id of the task');
  },
  async run(context, { args }) {
    const id = parseId(args[0]!);
    const db = await context.database();
    const task = await showTask(db, id);
    if (task === undefined) throw noSuchTask(id);
    if (task.status !== 'dead') {
      throw new TaskqError('not_dead', `task ${id} is not a dead letter but ${task.status}`, {
        hint: `see taskq show ${id}`,
      });
    }
    const { formatTask } = await import('../../present/format-task.ts');
    await context.output.answer(task, async (screen) =>
      formatTask(task, { deadRetention: await deadRetention(db, task.queue) }, screen),
    );
  },
};
