import { badOption } from '../../lib/bad-option.ts';
import { countOf } from '../../lib/count.ts';
import { parseDuration } from '../../lib/duration.ts';
import { FILTERED } from '../../queue/inspect/task-filter.ts';
import { cancel as cancelTasks } from '../../queue/operate/cancel.ts';
import { tryOut } from '../operations/dry-run.ts';
import type { CliCommand } from '../run/command.ts';
import type { Context } from '../run/context.ts';
import {
  type Asked,
  actIfMeant,
  askedOf,
  type BulkOptions,
  declareVerb,
  noteNothing,
} from '../select/bulk.ts';
import { NO_TASK_MATCHES } from '../select/misspelt.ts';
import { filterSuggestions } from '../select/task-filter.ts';

interface CancelOptions extends BulkOptions {
  /** The reason to record. It cannot filter: no live task has been cancelled yet. */
  readonly reason?: string;
  readonly wait?: string;
  readonly yes?: true;
}

/** `taskq cancel`: cancel tasks by id, or all that fit. */
export const cancel: CliCommand<CancelOptions> = {
  suggestions: filterSuggestions(FILTERED.cancel),
  declare(command) {
    declareVerb(command, 'cancel')
      .option('--reason <text>', 'reason for the record, shown with the task')
      .option(
        '--wait <duration>',
        'how long to wait for running tasks given by id to end (45s); 0s does not wait',
      )
      .option('--yes', 'do not ask for confirmation')
      .addHelpText(
        'after',
        `
A waiting task is cancelled at once. The handler of a running task is asked to end, and the command reports how it did:
cancelled, killed because it did not end in time, finished first, or cancelled when its worker was lost. With defaults
this takes at most 45s, unless a handler in its worker's own process ignores its signal.

Exit codes: 0 all are cancelled; 1 one was not; 4 one is still running after --wait. With --wait 0s or a filter the
command only requests the cancellation of running tasks, and exits with 0.`,
      );
  },
  async run(context, call) {
    const asked = await askedOf(context, call, 'cancel');
    const { selection, acting } = asked;
    if (call.options.dryRun) return tryOut(context, asked, 'cancel');
    const { reason = null, wait } = call.options;
    if (selection.kind === 'filter') {
      if (wait !== undefined) throw badOption('--wait needs the ids of tasks, not a filter');
      return cancelMatches(context, asked, reason, call.options);
    }
    const waitMs = wait === undefined ? USUAL_WAIT_MS : parseDuration(wait, '--wait');
    const { cancelIds } = await import('../select/cancel-ids.ts');
    return cancelIds(context, selection.ids, { reason, acting }, waitMs);
  },
};

/** With the default lease and grace, tasks have ended this long after their worker died or was asked to cancel them. */
const USUAL_WAIT_MS = 45_000;

async function cancelMatches(
  context: Context,
  asked: Asked,
  reason: string | null,
  { yes }: CancelOptions,
): Promise<void> {
  const { db, acting } = asked;
  const result = await actIfMeant(
    context,
    asked,
    { isSure: yes, ask: (which) => `cancel ${which}`, refusal: 'not_live' },
    (ids) => cancelTasks(db, ids, reason, acting),
  );
  const { cancelled = 0, requested = 0, not_live = 0 } = result.counts;
  await context.output.answer({ cancelled, requested, not_live }, () =>
    cancelled + requested === 0
      ? NO_TASK_MATCHES
      : [
          `cancelled ${countOf(cancelled, 'task')}`,
          ...(requested > 0
            ? [
                `asked the workers of ${countOf(requested, 'running task')} to cancel ${requested === 1 ? 'it' : 'them'}`,
              ]
            : []),
        ].join(', '),
  );
  if (cancelled + requested === 0) await noteNothing(context, asked);
}
