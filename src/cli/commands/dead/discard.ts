import { EXIT } from '../../../lib/errors.ts';
import { type DiscardAnswer, discard } from '../../../queue/discard.ts';
import { actOnIds, actOnMatches, type BulkResult, countMatches } from '../../bulk.ts';
import type { CliCommand } from '../../command.ts';
import { confirm } from '../../confirm.ts';
import { countOf } from '../../count.ts';
import { type DeadSelectionOptions, deadSelection, declareDeadSelection } from '../../dead-selection.ts';
import { complainOfRefused } from '../../refused-task.ts';

interface DiscardOptions extends DeadSelectionOptions {
  readonly yes?: true;
}

/** `taskq dead discard`: delete for good. */
export const discardDead: CliCommand<DiscardOptions> = {
  declare(command) {
    declareDeadSelection(command).option('--yes', 'do not ask');
  },
  async run(context, { args, options }) {
    const selection = deadSelection(args, options);
    const db = await context.database();
    if (!options.yes) {
      const which =
        selection.kind === 'ids'
          ? countOf(selection.ids.length, 'task')
          : await countMatches(db, selection.filter);
      await confirm(context, `delete ${which} for good`);
    }
    const act = (ids: readonly string[]) => discard(db, ids);
    const result =
      selection.kind === 'ids'
        ? await actOnIds(act, selection.ids)
        : await actOnMatches(context, selection.filter, act);
    const missing = selection.kind === 'ids' ? (result.counts.not_dead ?? 0) : 0;
    await context.output.answer(documentOf(result), () =>
      missing > 0 && !result.counts.discarded
        ? ''
        : `discarded ${countOf(result.counts.discarded ?? 0, 'task')}`,
    );
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
