import type { Database } from '../../lib/database.ts';
import { findTasks } from '../../queue/inspect/find-tasks.ts';
import { listGroups } from '../../queue/inspect/list-groups.ts';
import { FILTERED, storedFilter } from '../../queue/inspect/task-filter.ts';
import type { TaskRow } from '../../queue/inspect/task-row.ts';
import { isDue, obstaclesTo } from '../present/obstacle-text.ts';
import type { CliCommand } from '../run/command.ts';
import { NO_TASK_MATCHES, noteMisspelt } from '../select/misspelt.ts';
import { waitsOf } from '../select/note-waits.ts';
import {
  declareFilter,
  declarePage,
  type FilterOptions,
  filterOf,
  filterSuggestions,
  flagOf,
  parseAfter,
  parseLimit,
} from '../select/task-filter.ts';

interface ListOptions extends FilterOptions {
  readonly limit: string;
  readonly after?: string;
}

/** `taskq list`: a page of tasks, newest first. */
export const list: CliCommand<ListOptions> = {
  suggestions: filterSuggestions(FILTERED.list),
  declare(command) {
    declarePage(declareFilter(command, FILTERED.list)).addHelpText('after', COLUMNS);
  },
  async run(context, { options }) {
    const filter = storedFilter(filterOf(options), FILTERED.list, flagOf);
    const limit = parseLimit(options.limit);
    const after = parseAfter(options.after, filter);
    const db = await context.database();
    const page = await findTasks(db, filter, limit, { after });
    await context.output.answer({ tasks: page.tasks, next_after: page.nextAfter }, async (screen) => {
      const { formatTaskList } = await import('../present/format-task-list.ts');
      return formatTaskList(page.tasks, screen);
    });
    if (context.output.format === 'json' || context.output.isQuiet) return;
    if (page.tasks.length === 0) {
      context.output.talk(NO_TASK_MATCHES);
      await noteMisspelt(context.output, db, filter);
    } else if (page.nextAfter !== null) context.output.talk(`there may be more: --after ${page.nextAfter}`);
    const now = Date.now();
    const obstacles = await obstaclesTo(
      db,
      page.tasks.filter((task) => isDue(task, now)),
    );
    const stops = await waitsOf(db, await firstOfStoppedGroups(db, page.tasks), 'blocked');
    for (const reason of [...obstacles, ...stops.keys()]) context.output.talk(`due tasks wait: ${reason}`);
  },
};

const MOST_STOPPED = 10_000;

/** The id of a task that waits for its slot, for each stopped group that has one here. */
async function firstOfStoppedGroups(db: Database, tasks: readonly TaskRow[]): Promise<string[]> {
  const waiting = tasks.filter(({ waits_for }) => waits_for === 'slot');
  const ids: string[] = [];
  for (const queue of new Set(waiting.map((task) => task.queue))) {
    const here = new Map(
      waiting.flatMap((task) => (task.queue === queue ? [[String(task.group_key), String(task.id)]] : [])),
    );
    const stopped = await listGroups(db, queue, { stopped: true, limit: MOST_STOPPED });
    ids.push(...stopped.flatMap(({ name }) => here.get(name) ?? []));
  }
  return ids;
}

const COLUMNS = `
Columns:
  STEP     its name in its workflow; left out if no task of the page has one
  STATUS   blocked: waits for the parents of its step or for a slot of its group; pending: waits for its time, for another
           attempt or for a worker; leased: claimed by a worker, waits for a free slot; running; completed; cancelled; expired: its --expires passed before it started; dead: a dead letter
  PRI      priority, 0 (most urgent) to 9
  FAILED   failed attempts, of the maximum
  WHEN     when the task is due, started or ended`;
