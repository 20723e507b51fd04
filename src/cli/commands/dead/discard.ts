import { countOf } from '../../../lib/count.ts';
import { EXIT } from '../../../lib/errors.ts';
import { FILTERED } from '../../../queue/inspect/task-filter.ts';
import type { BulkAnswer, BulkResult } from '../../../queue/operate/bulk.ts';
import { discard } from '../../../queue/operate/discard.ts';
import { tryOut } from '../../operations/dry-run.ts';
import { reportHeldKeys } from '../../present/format-keys.ts';
import { complainOfRefused } from '../../present/refused-task.ts';
import type { CliCommand } from '../../run/command.ts';
import {
  actIfMeant,
  askedOf,
  type BulkOptions,
  byHandOf,
  declareVerb,
  leftOutByHand,
  noteNothing,
  sparedByHand,
} from '../../select/bulk.ts';
import { NO_TASK_MATCHES } from '../../select/misspelt.ts';
import { filterSuggestions } from '../../select/task-filter.ts';

interface DiscardOptions extends BulkOptions {
  readonly yes?: true;
}

/** `taskq dead discard`: delete dead letters for good. */
export const discardDead: CliCommand<DiscardOptions> = {
  suggestions: filterSuggestions(FILTERED['dead discard']),
  declare(command) {
    declareVerb(command, 'dead discard').option('--yes', 'do not ask for confirmation');
  },
  async run(context, call) {
    const asked = await askedOf(context, call, 'dead discard');
    if (call.options.dryRun) return tryOut(context, asked, 'discard');
    const { db, acting, selection } = asked;
    const question = {
      isSure: call.options.yes,
      noun: 'dead letter',
      ask: async (which: string) => `permanently delete ${which}${await sparedByHand(asked)}`,
      refusal: 'not_dead',
    } as const;
    const result = await actIfMeant(
      context,
      asked,
      question,
      (ids) => discard(db, ids, { byHand: byHandOf(asked), ...acting }),
      (answer) => answer.held_key !== null,
    );
    const { discarded = 0 } = result.counts;
    const left = await leftOutByHand(asked);
    const missing = selection.kind === 'ids' ? (result.counts.not_dead ?? 0) : 0;
    await context.output.answer(documentOf(result), () => {
      if (discarded > 0) return `discarded ${countOf(discarded, 'task')}${left}`;
      return missing > 0 ? '' : `${NO_TASK_MATCHES}${left}`;
    });
    if (discarded === 0) await noteNothing(context, asked);
    reportHeldKeys(context.output, result.answers);
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

function documentOf({ counts, answers }: BulkResult<BulkAnswer>): object {
  const { discarded = 0, not_dead = 0 } = counts;
  return { discarded, not_dead, tasks: answers };
}
