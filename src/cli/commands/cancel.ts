import { parseDuration } from '../../lib/duration.ts';
import { cancel as cancelTasks } from '../../queue/cancel.ts';
import {
  actOnSelection,
  type BulkAnswer,
  type BulkResult,
  countSelected,
  NO_TASK_FITS,
  refuseAll,
} from '../bulk.ts';
import type { CliCommand } from '../command.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { countOf } from '../count.ts';
import { type ActingOptions, actingOf, declareActing } from '../operator.ts';
import { badOption, filterSuggestions } from '../task-filter.ts';
import {
  declareSelection,
  LIVE_TASKS,
  type SelectionOptions,
  selectionOf,
  type TaskSelection,
} from '../task-selection.ts';

interface CancelOptions extends SelectionOptions, ActingOptions {
  /** Why; what is live was not cancelled for a reason yet. */
  readonly reason?: string;
  readonly wait?: string;
  readonly yes?: true;
}

/** `taskq cancel`: by id, or all that fit. */
export const cancel: CliCommand<CancelOptions> = {
  suggestions: filterSuggestions(LIVE_TASKS),
  declare(command) {
    declareActing(declareSelection(command, LIVE_TASKS))
      .option('--reason <text>', 'why, for those who look at the task later')
      .option(
        '--wait <duration>',
        'how long to wait for the end of those that run, for tasks named by their ids (45s); 0s: only ask',
      )
      .option('--yes', 'do not ask')
      .addHelpText(
        'after',
        `
A task that waits is cancelled at once. The handler of one that runs is asked to end, and the answer says what became of
it: it was cancelled; it did not end in time and had to be killed; it finished first; its worker was lost.
In 45s, with defaults, it is one of these, unless a handler in a busy worker's own process ignores its signal.

Exit codes: 0 when all are cancelled, 1 when one was not, 4 when one is
still running after --wait; with --wait 0s, or a filter, what runs was asked to end, and that is 0.`,
      );
  },
  async run(context, { args, options }) {
    const selection = selectionOf(args, options, LIVE_TASKS);
    const { reason = null, wait } = options;
    if (selection.kind === 'filter') {
      if (wait !== undefined) throw badOption('--wait is for tasks named by their ids');
      return cancelMatches(context, selection, reason, options);
    }
    const by = await actingOf(options);
    const waitMs = wait === undefined ? USUAL_WAIT_MS : parseDuration(wait, '--wait');
    const { cancelIds } = await import('../cancel-ids.ts');
    return cancelIds(context, selection.ids, { reason, by }, waitMs);
  },
};

/** With the default lease and grace, so long after a worker has died or was asked its tasks have ended. */
const USUAL_WAIT_MS = 45_000;

async function cancelMatches(
  context: Context,
  selection: TaskSelection,
  reason: string | null,
  options: CancelOptions,
): Promise<void> {
  const by = await actingOf(options);
  const db = await context.database();
  const which = options.yes ? 'all' : await countSelected(db, selection, LIVE_TASKS);
  if (which !== null && !options.yes) await confirm(context, `cancel ${which}`);
  const result: BulkResult<BulkAnswer> =
    which === null
      ? await refuseAll(db, selection, 'not_live')
      : await actOnSelection(context, selection, (ids) => cancelTasks(db, ids, reason, { by }));
  const { cancelled = 0, requested = 0, not_live = 0 } = result.counts;
  await context.output.answer({ cancelled, requested, not_live }, () =>
    cancelled + requested === 0
      ? NO_TASK_FITS
      : [
          `cancelled ${countOf(cancelled, 'task')}`,
          ...(requested > 0 ? [`asked the workers of ${requested} that run`] : []),
        ].join(', '),
  );
}
