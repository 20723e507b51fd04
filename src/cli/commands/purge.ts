import { EXIT } from '../../lib/errors.ts';
import { purge as purgeTasks } from '../../queue/purge.ts';
import { actOnIds } from '../bulk.ts';
import type { CliCommand } from '../command.ts';
import { confirm } from '../confirm.ts';
import { countOf } from '../count.ts';
import { complainOfRefused } from '../refused-task.ts';
import { parseId } from '../task-filter.ts';

/** `taskq purge`: erase finished tasks. */
export const purge: CliCommand<{ readonly yes?: true }> = {
  declare(command) {
    command
      .argument('<ids...>', 'the numbers of the tasks')
      .option('--yes', 'do not ask')
      .addHelpText(
        'after',
        `
What is erased is gone: the payload, the result, and the errors of every attempt. A key that the task holds for a
period (--key-for) stays held. By itself a finished task is erased when its retention is over.`,
      );
  },
  async run(context, { args, options }) {
    const ids = args.map((id) => parseId(id));
    const db = await context.database();
    const named = new Set(ids).size;
    if (!options.yes) await confirm(context, `erase ${countOf(named, 'finished task')} for good`);
    const { counts, answers } = await actOnIds((some) => purgeTasks(db, some), ids);
    const { purged = 0, not_finished = 0 } = counts;
    await context.output.answer({ purged, not_finished, tasks: answers }, () =>
      purged > 0 ? `purged ${countOf(purged, 'task')}` : '',
    );
    const refused = answers.filter(({ answer }) => answer === 'not_finished');
    complainOfRefused(context.output, refused, ADVICE);
    return not_finished === 0 ? EXIT.done : EXIT.failed;
  },
};

const ADVICE = {
  waiting: 'cancel it first: taskq cancel <id>',
  live: 'cancel it first: taskq cancel <id>',
  dead: 'discard it: taskq dead discard <id>',
};
