import { checkedName } from '../../../domain/names.ts';
import { findTasks, type TaskFilter } from '../../../queue/find-tasks.ts';
import type { TaskRow } from '../../../queue/task-row.ts';
import type { CliCommand } from '../../command.ts';
import { declarePage, parseId, parseLimit, parseSince } from '../../task-filter.ts';

interface ListOptions {
  readonly type?: string;
  readonly queue?: string;
  readonly since?: string;
  readonly reason?: string;
  readonly limit: string;
  readonly after?: string;
}

/** `taskq dead list`: a page of dead letters, newest first. */
export const listDead: CliCommand<ListOptions> = {
  declare(command) {
    command
      .option('--type <type>', 'only tasks of this type')
      .option('--queue <queue>', 'only tasks of this queue')
      .option('--since <time>', 'only what died since then: 2h, or 2030-01-31T09:00:00Z')
      .option('--reason <reason>', 'only this reason');
    declarePage(command);
  },
  async run(context, { options }) {
    const filter = filterOf(options);
    const limit = parseLimit(options.limit);
    const after = options.after === undefined ? null : parseId(options.after, '--after');
    const page = await findTasks(await context.database(), filter, limit, after);
    const document = { tasks: page.tasks.map(columnsOf), next_after: page.nextAfter };
    await context.output.answer(document, async (screen) => {
      const { formatDeadList } = await import('../../format-dead-list.ts');
      return formatDeadList(page.tasks, screen);
    });
    if (context.output.format === 'json') return;
    if (page.tasks.length === 0) context.output.talk('no dead letters');
    else if (page.nextAfter !== null) context.output.talk(`there may be more: --after ${page.nextAfter}`);
  },
};

function filterOf({ type, queue, since, reason }: ListOptions): TaskFilter {
  return {
    status: ['dead'],
    ...(type !== undefined && { type: checkedName('type', type) }),
    ...(queue !== undefined && { queue: checkedName('queue', queue) }),
    ...(since !== undefined && { since: parseSince(since) }),
    ...(reason !== undefined && { reason }),
  };
}

/** The columns of `taskq.dead_tasks` that say what died of what. */
function columnsOf(task: TaskRow): object {
  const { id, type, queue, priority, attempts, losses, reason, by_hand, error, payload, tags, unique_key } =
    task;
  const { created_at, finished_at: died_at } = task;
  return {
    ...{ id, type, queue, priority, attempts, losses, reason, by_hand, error, payload, tags, unique_key },
    ...{ created_at, died_at },
  };
}
