import { findTasks } from '../../../queue/inspect/find-tasks.ts';
import { FILTERED, storedFilter, type TaskFilter } from '../../../queue/inspect/task-filter.ts';
import type { TaskRow } from '../../../queue/inspect/task-row.ts';
import type { CliCommand } from '../../run/command.ts';
import { NO_TASK_MATCHES, noteMisspelt } from '../../select/misspelt.ts';
import {
  declareFilter,
  declarePage,
  type FilterOptions,
  filterOf,
  filterSuggestions,
  flagOf,
  parseAfter,
  parseLimit,
} from '../../select/task-filter.ts';

const DEAD = FILTERED['dead list'];

interface ListOptions extends FilterOptions {
  readonly limit: string;
  readonly after?: string;
}

/** `taskq dead list`: a page of dead letters, the last to die first. */
export const listDead: CliCommand<ListOptions> = {
  suggestions: filterSuggestions(DEAD),
  declare(command) {
    declarePage(declareFilter(command, DEAD));
  },
  async run(context, { options }) {
    const filter: TaskFilter = { status: DEAD.statuses, ...storedFilter(filterOf(options), DEAD, flagOf) };
    const limit = parseLimit(options.limit);
    const after = parseAfter(options.after, filter);
    const db = await context.database();
    const page = await findTasks(db, filter, limit, { after });
    const document = { tasks: page.tasks.map(columnsOf), next_after: page.nextAfter };
    await context.output.answer(document, async (screen) => {
      const { formatDeadList } = await import('../../present/format-dead-list.ts');
      return formatDeadList(page.tasks, screen);
    });
    if (context.output.format === 'json') return;
    if (page.tasks.length === 0) {
      context.output.talk(NO_TASK_MATCHES);
      await noteMisspelt(context.output, db, filter);
    } else if (page.nextAfter !== null) context.output.talk(`there may be more: --after ${page.nextAfter}`);
  },
};

/** The columns of `taskq.dead_tasks` that say which task died, and why. */
function columnsOf(task: TaskRow): object {
  const { id, type, queue, priority, attempts, losses, reason, by_hand, error, payload, tags, unique_key } =
    task;
  const { created_at, finished_at: died_at } = task;
  return {
    ...{ id, type, queue, priority, attempts, losses, reason, by_hand, error, payload, tags, unique_key },
    ...{ created_at, died_at },
  };
}
