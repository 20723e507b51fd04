import { TaskqError } from '../../lib/errors.ts';
import { deadRetention } from '../../queue/inspect/dead-retention.ts';
import { showTask } from '../../queue/inspect/show-task.ts';
import { isDue, obstaclesTo } from '../present/obstacle-text.ts';
import { unknownTask } from '../present/refused-task.ts';
import type { CliCommand } from '../run/command.ts';
import { parseId } from '../select/task-filter.ts';

/** `taskq show`: everything known about one task. */
export const show: CliCommand = {
  declare(command) {
    command.argument('<id>', 'id of the task');
  },
  async run(context, { args }) {
    const id = parseId(args[0]!);
    const db = await context.database();
    const task = await showTask(db, id);
    if (task === undefined) throw noSuchTask(id);
    const { formatTask } = await import('../present/format-task.ts');
    await context.output.answer(task, async (screen) => {
      if (task.status === 'dead')
        return formatTask(task, { deadRetention: await deadRetention(db, task.queue) }, screen);
      const stalled = isDue(task, screen.now) ? await obstaclesTo(db, [task]) : [];
      return formatTask(task, { stalled: stalled.join() }, screen);
    });
  },
};

/** The error for an unknown id. */
export function noSuchTask(id: string): TaskqError {
  return new TaskqError('no_such_task', unknownTask(id));
}
