import { explainTask } from '../../queue/inspect/explain-task.ts';
import type { CliCommand } from '../run/command.ts';
import { parseId } from '../select/task-filter.ts';
import { noSuchTask } from './show.ts';

/** `taskq explain`: why a task does not run. */
export const explain: CliCommand = {
  declare(command) {
    command.argument('<id>', 'id of the task').addHelpText('after', ABOUT);
  },
  async run(context, { args }) {
    const id = parseId(args[0]!);
    const explanation = await explainTask(await context.database(), id);
    if (explanation === undefined) throw noSuchTask(id);
    await context.output.answer(explanation, async (screen) => {
      const { formatExplanation } = await import('../present/format-explanation.ts');
      return formatExplanation(explanation, screen);
    });
  },
};

const ABOUT = `
Names everything that keeps a waiting task from starting, each on a line: its own time, its queue, its workers, then the
tasks before it. "may start" is the time from which only free slots and the tasks before it matter. For a task that
runs it prints where and since when; for one that has ended, when.`;
