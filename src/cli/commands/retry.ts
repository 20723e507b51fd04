import { checkedName } from '../../domain/names.ts';
import { EXIT } from '../../lib/errors.ts';
import type { TaskFilter } from '../../queue/find-tasks.ts';
import { type RetryAnswer, retry as retryTasks } from '../../queue/retry.ts';
import { actOnIds, actOnMatches, type BulkResult } from '../bulk.ts';
import type { CliCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { countOf, withCommas } from '../count.ts';
import { complainOfRefused } from '../refused-task.ts';
import { badOption, parseId } from '../task-filter.ts';

interface RetryOptions {
  readonly type?: string;
  readonly queue?: string;
  readonly failed?: true;
}

/** `taskq retry`: waiting tasks run now, by id or all that fit. */
export const retry: CliCommand<RetryOptions> = {
  declare(command) {
    command
      .argument('[ids...]', 'the numbers of the tasks')
      .option('--type <type>', 'all waiting tasks of this type')
      .option('--queue <queue>', 'all waiting tasks of this queue')
      .option('--failed', 'all that wait after a failed attempt')
      .usage('[options] <id...> | --type <type> | --queue <queue> | --failed')
      .addHelpText(
        'after',
        `
A task that waits for its time, or after a failed attempt, is due at once. Nothing else of it changes: attempts that
failed count on. Dead letters come back by taskq dead revive.`,
      );
  },
  async run(context, { args, options }) {
    const filter = filterOf(options);
    if (args.length > 0 === (filter !== undefined)) {
      throw badOption('name the tasks either by their ids or by --type, --queue, --failed');
    }
    if (filter !== undefined) return retryMatches(context, filter);
    return retryIds(
      context,
      args.map((id) => parseId(id)),
    );
  },
};

function filterOf({ type, queue, failed }: RetryOptions): TaskFilter | undefined {
  if (type === undefined && queue === undefined && failed === undefined) return undefined;
  return {
    status: ['pending'],
    ...(type !== undefined && { type: checkedName('type', type) }),
    ...(queue !== undefined && { queue: checkedName('queue', queue) }),
    ...(failed && { failed }),
  };
}

async function retryIds(context: Context, ids: readonly string[]): Promise<number> {
  const db = await context.database();
  const result = await actOnIds((some) => retryTasks(db, some), ids);
  const refused = result.answers.filter(({ answer }) => answer === 'not_waiting');
  await context.output.answer({ ...documentOf(result), tasks: result.answers }, () =>
    result.answers
      .filter(({ answer }) => answer !== 'not_waiting')
      .map(({ id, answer }) => `${id} ${answer === 'retried' ? 'retried: it is due now' : 'is due already'}`)
      .join('\n'),
  );
  complainOfRefused(context.output, refused, { dead: 'revive it: taskq dead revive <id>' });
  return refused.length === 0 ? EXIT.done : EXIT.failed;
}

/** What has begun to run, or ended, since it was looked for is none of them. */
async function retryMatches(context: Context, filter: TaskFilter): Promise<void> {
  const db = await context.database();
  const result = await actOnMatches(context, filter, (ids) => retryTasks(db, ids));
  const { retried = 0, due = 0 } = result.counts;
  await context.output.answer(documentOf(result), () =>
    [
      `retried ${countOf(retried, 'task')}`,
      ...(due > 0 ? [`${withCommas(due)} ${due === 1 ? 'was' : 'were'} due already`] : []),
    ].join(', '),
  );
}

function documentOf({ counts }: BulkResult<RetryAnswer>): object {
  const { retried = 0, due = 0, not_waiting = 0 } = counts;
  return { retried, due, not_waiting };
}
