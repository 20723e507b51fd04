import { countOf } from '../../lib/count.ts';
import { EXIT } from '../../lib/errors.ts';
import { FILTERED } from '../../queue/inspect/task-filter.ts';
import { purge as purgeTasks } from '../../queue/operate/purge.ts';
import { tryOut } from '../operations/dry-run.ts';
import { reportHeldKeys } from '../present/format-keys.ts';
import { complainOfRefused } from '../present/refused-task.ts';
import type { CliCommand } from '../run/command.ts';
import { actIfMeant, askedOf, type BulkOptions, declareVerb, noteNothing } from '../select/bulk.ts';
import { NO_TASK_MATCHES } from '../select/misspelt.ts';
import { filterSuggestions } from '../select/task-filter.ts';

interface PurgeOptions extends BulkOptions {
  readonly yes?: true;
}

/** `taskq purge`: erase finished tasks. */
export const purge: CliCommand<PurgeOptions> = {
  suggestions: filterSuggestions(FILTERED.purge),
  declare(command) {
    declareVerb(command, 'purge')
      .option('--yes', 'do not ask for confirmation')
      .addHelpText(
        'after',
        `
Deletes the payload, the result and the errors of every attempt. A key that the task holds for a period (--key-for)
stays held and is named; taskq keys release frees it. Finished tasks are deleted automatically after their retention.`,
      );
  },
  async run(context, call) {
    const asked = await askedOf(context, call, 'purge');
    if (call.options.dryRun) return tryOut(context, asked, 'purge');
    const { db, acting, selection } = asked;
    const question = {
      isSure: call.options.yes,
      noun: 'finished task',
      ask: (which: string) => `permanently delete ${which}`,
      refusal: 'not_finished',
    } as const;
    const result = await actIfMeant(
      context,
      asked,
      question,
      (ids) => purgeTasks(db, ids, acting),
      (answer) => answer.held_key !== null,
    );
    const { purged = 0, not_finished = 0 } = result.counts;
    const isNamed = selection.kind === 'ids';
    await context.output.answer({ purged, not_finished, tasks: result.answers }, () => {
      if (purged > 0) return `purged ${countOf(purged, 'task')}`;
      return isNamed ? '' : NO_TASK_MATCHES;
    });
    if (purged === 0) await noteNothing(context, asked);
    reportHeldKeys(context.output, result.answers);
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
