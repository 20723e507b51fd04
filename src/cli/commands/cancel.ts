import { checkedName } from '../../domain/names.ts';
import { EXIT } from '../../lib/errors.ts';
import { type CancelAnswer, cancel as cancelTasks } from '../../queue/cancel.ts';
import type { TaskFilter } from '../../queue/find-tasks.ts';
import { actOnIds, actOnMatches, type BulkResult, countMatches } from '../bulk.ts';
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
      .option('--yes', 'do not ask')
      .usage('[options] <id...> | --type <type> | --queue <queue> | --tag <name=value>');
  },
  async run(context, { args, options }) {
    const filter = filterOf(options);
    if (args.length > 0 === (filter !== undefined)) {
      throw badOption('name the tasks either by their ids or by --type, --queue, --tag');
    }
    const { reason = null } = options;
    if (filter === undefined)
      return cancelIds(
        context,
        args.map((id) => parseId(id)),
        reason,
      );
    return cancelMatches(context, filter, reason, options);
  },
};

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

async function cancelIds(context: Context, ids: readonly string[], reason: string | null): Promise<number> {
  const db = await context.database();
  const result = await actOnIds((some) => cancelTasks(db, some, reason), ids);
  await context.output.answer(documentOf(result, 'with ids'), () =>
    result.answers.map(({ id, answer }) => `${id} ${SAID[answer]}`).join('\n'),
  );
  return result.counts.not_live === undefined ? EXIT.done : EXIT.failed;
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
  const { cancelled = 0, requested = 0 } = result.counts;
  await context.output.answer(documentOf(result, 'counts'), () =>
    [
      `cancelled ${countOf(cancelled, 'task')}`,
      ...(requested > 0 ? [`asked the workers of ${requested} that run`] : []),
    ].join(', '),
  );
}

const SAID: Record<CancelAnswer['answer'], string> = {
  cancelled: 'cancelled',
  requested: 'runs; its worker was asked to end it',
  not_live: 'neither waits nor runs',
};

function documentOf({ counts, answers }: BulkResult<CancelAnswer>, detail: 'with ids' | 'counts'): object {
  const { cancelled = 0, requested = 0, not_live = 0 } = counts;
  return { cancelled, requested, not_live, ...(detail === 'with ids' && { tasks: answers }) };
}
