import { checkedName } from '../../domain/names.ts';
import { parseDuration } from '../../lib/duration.ts';
import { cancel as cancelTasks } from '../../queue/cancel.ts';
import type { TaskFilter } from '../../queue/find-tasks.ts';
import { actOnMatches, countMatches } from '../bulk.ts';
import type { CliCommand } from '../command.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { countOf } from '../count.ts';
import { badOption, collect, parseId, parseTags } from '../task-filter.ts';

interface CancelOptions {
  readonly type?: string;
  readonly queue?: string;
  readonly tag?: readonly string[];
  readonly reason?: string;
  readonly wait?: string;
  readonly yes?: true;
}

/** `taskq cancel`: by id, or all that fit. */
export const cancel: CliCommand<CancelOptions> = {
  declare(command) {
    command
      .argument('[ids...]', 'the numbers of the tasks')
      .option('--type <type>', 'all tasks of this type')
      .option('--queue <queue>', 'all tasks of this queue')
      .option('--tag <name=value>', 'all tasks with this tag; may be given again', collect)
      .option('--reason <text>', 'why, for those who look at the task later')
      .option('--wait <duration>', 'how long to wait for the end of those that run (45s); 0s: only ask')
      .option('--yes', 'do not ask')
      .usage('[options] <id...> | --type <type> | --queue <queue> | --tag <name=value>')
      .addHelpText(
        'after',
        `
A task that waits is cancelled at once. The handler of one that runs is asked to end, and the answer says what became of
it: it was cancelled; it did not end in time and had to be killed; it finished first; its worker was lost.
In 45s, with defaults, it is one of these, unless a handler in a busy worker's own process ignores its signal.

Exit codes: 0 when all are cancelled, 1 when one was not, 4 when one is still running.`,
      );
  },
  async run(context, { args, options }) {
    const filter = filterOf(options);
    if (args.length > 0 === (filter !== undefined)) {
      throw badOption('name the tasks either by their ids or by --type, --queue, --tag');
    }
    const { reason = null, wait } = options;
    if (filter !== undefined) {
      if (wait !== undefined) throw badOption('--wait is for tasks named by their ids');
      return cancelMatches(context, filter, reason, options);
    }
    const ids = args.map((id) => parseId(id));
    const waitMs = wait === undefined ? USUAL_WAIT_MS : parseDuration(wait, '--wait');
    const { cancelIds } = await import('../cancel-ids.ts');
    return cancelIds(context, ids, reason, waitMs);
  },
};

/** With the default lease and grace, so long after a worker has died or was asked its tasks have ended. */
const USUAL_WAIT_MS = 45_000;

const LIVE = ['blocked', 'pending', 'leased', 'running'];

function filterOf({ type, queue, tag }: CancelOptions): TaskFilter | undefined {
  if (type === undefined && queue === undefined && tag === undefined) return undefined;
  return {
    status: LIVE,
    ...(type !== undefined && { type: checkedName('type', type) }),
    ...(queue !== undefined && { queue: checkedName('queue', queue) }),
    ...(tag !== undefined && { tags: parseTags(tag) }),
  };
}

async function cancelMatches(
  context: Context,
  filter: TaskFilter,
  reason: string | null,
  { yes }: CancelOptions,
): Promise<void> {
  const db = await context.database();
  if (!yes) await confirm(context, `cancel ${await countMatches(db, filter)}`);
  const result = await actOnMatches(context, filter, (ids) => cancelTasks(db, ids, reason));
  const { cancelled = 0, requested = 0, not_live = 0 } = result.counts;
  await context.output.answer({ cancelled, requested, not_live }, () =>
    [
      `cancelled ${countOf(cancelled, 'task')}`,
      ...(requested > 0 ? [`asked the workers of ${requested} that run`] : []),
    ].join(', '),
  );
}
