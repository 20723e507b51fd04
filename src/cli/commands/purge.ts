import { EXIT } from '../../lib/errors.ts';
import { type PurgeAnswer, purge as purgeTasks } from '../../queue/purge.ts';
import { actOnSelection, type BulkResult, countSelected, NO_TASK_FITS, refuseAll } from '../bulk.ts';
import type { CliCommand } from '../command.ts';
import { confirm } from '../confirm.ts';
import { countOf } from '../count.ts';
import { tellHeldKeys } from '../format-keys.ts';
import { type ActingOptions, actingOf, declareActing } from '../operator.ts';
import { complainOfRefused } from '../refused-task.ts';
import { filterSuggestions } from '../task-filter.ts';
import { declareSelection, FINISHED_TASKS, type SelectionOptions, selectionOf } from '../task-selection.ts';

interface PurgeOptions extends SelectionOptions, ActingOptions {
  readonly yes?: true;
}

/** `taskq purge`: erase finished tasks. */
export const purge: CliCommand<PurgeOptions> = {
  suggestions: filterSuggestions(FINISHED_TASKS),
  declare(command) {
    declareActing(declareSelection(command, FINISHED_TASKS))
      .option('--yes', 'do not ask')
      .addHelpText(
        'after',
        `
What is erased is gone: the payload, the result, and the errors of every attempt. A key that the task holds for a
period (--key-for) stays held, and is named: taskq keys release frees it. By itself a finished task is erased when its retention is over.`,
      );
  },
  async run(context, { args, options }) {
    const selection = selectionOf(args, options, FINISHED_TASKS);
    const by = await actingOf(options);
    const db = await context.database();
    const which = options.yes ? 'all' : await countSelected(db, selection, FINISHED_TASKS, 'finished task');
    if (which !== null && !options.yes) await confirm(context, `erase ${which} for good`);
    const result: BulkResult<PurgeAnswer> =
      which === null
        ? await refuseAll(db, selection, 'not_finished')
        : await actOnSelection(
            context,
            selection,
            (ids) => purgeTasks(db, ids, { by }),
            (answer) => answer.held_key !== null,
          );
    const { purged = 0, not_finished = 0 } = result.counts;
    const isNamed = selection.kind === 'ids';
    await context.output.answer({ purged, not_finished, tasks: result.answers }, () => {
      if (purged > 0) return `purged ${countOf(purged, 'task')}`;
      return isNamed ? '' : NO_TASK_FITS;
    });
    tellHeldKeys(context.output, result.answers);
    const refused = result.answers.filter(({ answer }) => answer === 'not_finished');
    complainOfRefused(context.output, refused, ADVICE);
    return not_finished === 0 || !isNamed ? EXIT.done : EXIT.failed;
  },
};

const ADVICE = {
  waiting: 'cancel it first: taskq cancel <id>',
  live: 'cancel it first: taskq cancel <id>',
  dead: 'discard it: taskq dead discard <id>',
};
