import { TaskqError } from '../../lib/errors.ts';
import { showTask } from '../../queue/inspect/show-task.ts';
import { isDue } from '../present/obstacle-text.ts';
import { unknownTask } from '../present/refused-task.ts';
import type { CliCommand } from '../run/command.ts';
import type { Context } from '../run/context.ts';
import { parseId } from '../select/task-filter.ts';

/** `taskq show`: everything known about one task. */
export const show: CliCommand<{ readonly follow?: true }> = {
  declare(command) {
    command
      .argument('<id>', 'id of the task')
      .option('--follow', 'print its log, errors and progress as they come, until it has ended');
    command.addHelpText('after', FOLLOW);
  },
  async run(context, { args, options }) {
    const id = parseId(args[0]!);
    if (options.follow) return follow(context, id);
    const db = await context.database();
    const task = await showTask(db, id);
    if (task === undefined) throw noSuchTask(id);
    const { formatTask } = await import('../present/format-task.ts');
    await context.output.answer(task, async (screen) => {
      if (task.status === 'dead') {
        const { aroundDeadLetter } = await import('../select/around-dead-letter.ts');
        return formatTask(task, await aroundDeadLetter(db, task), screen);
      }
      if (task.status !== 'pending' && task.status !== 'blocked') return formatTask(task, {}, screen);
      const { waitsOf } = await import('../select/note-waits.ts');
      const causes = await waitsOf(db, [id], isDue(task, screen.now) ? 'awaited' : 'later');
      const waits = [...causes.keys()].join('; ');
      return formatTask(task, { waits }, screen);
    });
  },
};

const FOLLOW = `
--follow prints the lines of the task's log, the errors of its attempts and its progress on stdout within 2 seconds,
whichever worker runs it, then its result. Exit codes are those of enqueue --wait: 0 completed, 1 otherwise. Ctrl-C ends
only the following. With --json, an object a line: event is line, error, progress, status or end. No lines are shown of
a type with --keep-log none.`;

async function follow(context: Context, id: string): Promise<number> {
  const { followToEnd } = await import('../select/follow-task.ts');
  const { reportFollowedEnd } = await import('../enqueue/report-end.ts');
  const end = await followToEnd(context, id);
  if (end === undefined) throw noSuchTask(id);
  return reportFollowedEnd(context, end);
}

export function noSuchTask(id: string): TaskqError {
  return new TaskqError('no_such_task', unknownTask(id));
}
