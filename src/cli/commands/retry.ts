import { countOf, withCommas } from '../../lib/count.ts';
import { EXIT } from '../../lib/errors.ts';
import { FILTERED } from '../../queue/inspect/task-filter.ts';
import type { BulkResult } from '../../queue/operate/bulk.ts';
import { type RetryAnswer, retry as retryTasks } from '../../queue/operate/retry.ts';
import { tryOut } from '../operations/dry-run.ts';
import { complainOfRefused, RUN_AGAIN } from '../present/refused-task.ts';
import type { CliCommand } from '../run/command.ts';
import type { Context } from '../run/context.ts';
import {
  type Asked,
  actOnSelection,
  askedOf,
  type BulkOptions,
  declareVerb,
  noteNothing,
} from '../select/bulk.ts';
import { NO_TASK_MATCHES } from '../select/misspelt.ts';
import { noteWaits, sampled } from '../select/note-waits.ts';
import { filterSuggestions } from '../select/task-filter.ts';

/** `taskq retry`: run waiting tasks now, by id or all that fit. */
export const retry: CliCommand<BulkOptions> = {
  suggestions: filterSuggestions(FILTERED.retry),
  declare(command) {
    declareVerb(command, 'retry').addHelpText(
      'after',
      `
Makes tasks due at once that wait for their time or for another attempt. Nothing else changes: failed attempts still
count. For dead letters, use taskq dead revive.`,
    );
  },
  async run(context, call) {
    const asked = await askedOf(context, call, 'retry');
    if (call.options.dryRun) return tryOut(context, asked, 'retry');
    const { db, acting, selection } = asked;
    const retried = sampled((ids: readonly string[]) => retryTasks(db, ids, acting), ['retried', 'due']);
    const done = await (selection.kind === 'ids' ? retryIds : retryMatches)(context, asked, retried.act);
    await noteWaits(context, retried, 'due');
    return done;
  },
};

async function retryIds(
  context: Context,
  asked: Asked,
  act: (ids: readonly string[]) => Promise<readonly RetryAnswer[]>,
): Promise<number> {
  const result = await actOnSelection(context, asked, act);
  const refused = result.answers.filter(({ answer }) => answer === 'not_waiting');
  await context.output.answer({ ...documentOf(result), tasks: result.answers }, () =>
    result.answers
      .filter(({ answer }) => answer !== 'not_waiting')
      .map(({ id, answer }) => `${id} ${answer === 'retried' ? 'retried: it is due now' : 'was due already'}`)
      .join('\n'),
  );
  complainOfRefused(context.output, refused, {
    dead: 'revive it: taskq dead revive <id>',
    finished: RUN_AGAIN,
  });
  return refused.length === 0 ? EXIT.done : EXIT.failed;
}

/** Tasks that started or ended after the search are not failures. */
async function retryMatches(
  context: Context,
  asked: Asked,
  act: (ids: readonly string[]) => Promise<readonly RetryAnswer[]>,
): Promise<number> {
  const result = await actOnSelection(context, asked, act);
  const { retried = 0, due = 0 } = result.counts;
  const isNothing = retried + due === 0;
  await context.output.answer(documentOf(result), () => {
    if (isNothing) return NO_TASK_MATCHES;
    return [
      `retried ${countOf(retried, 'task')}`,
      ...(due > 0 ? [`${withCommas(due)} ${due === 1 ? 'was' : 'were'} due already`] : []),
    ].join(', ');
  });
  if (isNothing) await noteNothing(context, asked);
  return EXIT.done;
}

function documentOf({ counts }: BulkResult<RetryAnswer>): object {
  const { retried = 0, due = 0, not_waiting = 0 } = counts;
  return { retried, due, not_waiting };
}
