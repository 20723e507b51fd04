import { EXIT } from '../../../lib/errors.ts';
import { type DiscardAnswer, discard } from '../../../queue/discard.ts';
import {
  actOnSelection,
  type BulkResult,
  countSelected,
  leftOutByHand,
  NO_TASK_FITS,
  refuseAll,
  sparedByHand,
} from '../../bulk.ts';
import type { CliCommand } from '../../command.ts';
import { confirm } from '../../confirm.ts';
import { countOf } from '../../count.ts';
import { tellHeldKeys } from '../../format-keys.ts';
import { type ActingOptions, actingOf, declareActing } from '../../operator.ts';
import { complainOfRefused } from '../../refused-task.ts';
import { filterSuggestions } from '../../task-filter.ts';
import { DEAD_LETTERS, declareSelection, type SelectionOptions, selectionOf } from '../../task-selection.ts';

interface DiscardOptions extends SelectionOptions, ActingOptions {
  readonly yes?: true;
}

/** `taskq dead discard`: delete for good. */
export const discardDead: CliCommand<DiscardOptions> = {
  suggestions: filterSuggestions(DEAD_LETTERS),
  declare(command) {
    declareActing(declareSelection(command, DEAD_LETTERS)).option('--yes', 'do not ask');
  },
  async run(context, { args, options }) {
    const selection = selectionOf(args, options, DEAD_LETTERS);
    const by = await actingOf(options);
    const db = await context.database();
    const which = options.yes ? 'all' : await countSelected(db, selection, DEAD_LETTERS, 'dead letter');
    if (which !== null && !options.yes)
      await confirm(context, `delete ${which} for good${await sparedByHand(db, selection)}`);
    const byHand = selection.kind === 'filter' ? selection.filter.by_hand : undefined;
    const result: BulkResult<DiscardAnswer> =
      which === null
        ? await refuseAll(db, selection, 'not_dead')
        : await actOnSelection(
            context,
            selection,
            (ids) => discard(db, ids, { byHand, by }),
            (answer) => answer.held_key !== null,
          );
    const { discarded = 0 } = result.counts;
    const left = await leftOutByHand(db, selection);
    const missing = selection.kind === 'ids' ? (result.counts.not_dead ?? 0) : 0;
    await context.output.answer(documentOf(result), () => {
      if (discarded > 0) return `discarded ${countOf(discarded, 'task')}${left}`;
      return missing > 0 ? '' : `${NO_TASK_FITS}${left}`;
    });
    tellHeldKeys(context.output, result.answers);
    if (missing > 0) {
      const refused = result.answers.filter(({ answer }) => answer === 'not_dead');
      complainOfRefused(context.output, refused, ADVICE);
    }
    return missing === 0 ? EXIT.done : EXIT.failed;
  },
};

const ADVICE = {
  waiting: 'cancel it: taskq cancel <id>',
  live: 'cancel it: taskq cancel <id>',
  finished: 'purge it: taskq purge <id>',
};

function documentOf({ counts, answers }: BulkResult<DiscardAnswer>): object {
  const { discarded = 0, not_dead = 0 } = counts;
  return { discarded, not_dead, tasks: answers };
}
