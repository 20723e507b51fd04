import { checkedName } from '../../domain/names.ts';
import { TASK_STATUSES } from '../../domain/task.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { findTasks, type TaskFilter } from '../../queue/find-tasks.ts';
import type { CliCommand } from '../command.ts';
import {
  badOption,
  collect,
  declarePage,
  parseId,
  parseLimit,
  parseSince,
  parseTags,
} from '../task-filter.ts';

interface ListOptions {
  readonly status?: readonly string[];
  readonly failed?: true;
  readonly type?: string;
  readonly queue?: string;
  readonly tag?: readonly string[];
  readonly key?: string;
  readonly since?: string;
  readonly limit: string;
  readonly after?: string;
}

const STATUSES: readonly string[] = TASK_STATUSES;

/** `taskq list`: a page of tasks, newest first. */
export const list: CliCommand<ListOptions> = {
  suggestions: { status: STATUSES },
  declare(command) {
    command
      .option('--status <status>', `only these: ${STATUSES.join(', ')}`, collect)
      .option('--failed', 'only tasks that failed: waiting for another attempt, or dead')
      .option('--type <type>', 'only tasks of this type')
      .option('--queue <queue>', 'only tasks of this queue')
      .option('--tag <name=value>', 'only tasks with this tag; may be given again', collect)
      .option('--key <key>', 'only tasks with this unique key')
      .option('--since <time>', 'only tasks created since then: 2h, or 2030-01-31T09:00:00Z');
    declarePage(command);
  },
  async run(context, { options }) {
    const filter = filterOf(options);
    const limit = parseLimit(options.limit);
    const after = options.after === undefined ? null : parseId(options.after, '--after');
    const page = await findTasks(await context.database(), filter, limit, after);
    await context.output.answer({ tasks: page.tasks, next_after: page.nextAfter }, async (screen) => {
      const { formatTaskList } = await import('../format-task-list.ts');
      return formatTaskList(page.tasks, screen);
    });
    if (context.output.format === 'json') return;
    if (page.tasks.length === 0) context.output.talk('no tasks');
    else if (page.nextAfter !== null) context.output.talk(`there may be more: --after ${page.nextAfter}`);
  },
};

function filterOf(options: ListOptions): TaskFilter {
  const { status, failed, type, queue, tag, key, since } = options;
  return {
    ...(status !== undefined && { status: status.flatMap((text) => text.split(',')).map(checkedStatus) }),
    ...(failed && { failed }),
    ...(type !== undefined && { type: checkedName('type', type) }),
    ...(queue !== undefined && { queue: checkedName('queue', queue) }),
    ...(tag !== undefined && { tags: parseTags(tag) }),
    ...(key !== undefined && { key: checkedName('key', key) }),
    ...(since !== undefined && { since: parseSince(since) }),
  };
}

function checkedStatus(status: string): string {
  if (STATUSES.includes(status)) return status;
  throw badOption(
    `--status ${JSON.stringify(status)}: expected ${STATUSES.join(', ')}${didYouMean(status, STATUSES)}`,
  );
}
