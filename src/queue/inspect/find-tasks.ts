import type { Queryable } from '../../lib/database.ts';
import type { TaskFilter } from './task-filter.ts';
import type { TaskRow } from './task-row.ts';

export interface TaskPage {
  /** Newest first; if all are dead letters, by time of death. */
  readonly tasks: readonly TaskRow[];
  /** Where the next page begins; null on the last page. */
  readonly nextAfter: string | null;
}

export interface Look {
  readonly after?: string | null;
  readonly lookMs?: number;
}

/** The most rows that one statement reads; the first reads few, which are enough where most tasks match. */
const MOST_WINDOW = 20_000;

/**
 * Find up to `limit` tasks that follow `after` (null: from the newest). Reads the tables in pages until it has enough,
 * or for `lookMs`: no index serves every filter, and where few tasks match, it reads all of history. A search with a
 * time limit also ends after some 8 MB of rows; one without, after 32 times that.
 */
export async function findTasks(
  db: Queryable,
  filter: TaskFilter,
  limit: number,
  { after = null, lookMs = Number.POSITIVE_INFINITY }: Look = {},
): Promise<TaskPage> {
  const until = performance.now() + lookMs;
  const tasks: TaskRow[] = [];
  let nextAfter = after;
  let window = Math.min(Math.max(2 * limit, 100), MOST_WINDOW);
  let fullPages = Number.isFinite(lookMs) ? 1 : 32;
  do {
    const rows: { tasks: TaskRow[]; next_after: string | null; is_full: boolean }[] = await db.query({
      text: 'select tasks, next_after, is_full from taskq.find_tasks($1, $2, $3, $4)',
      values: [JSON.stringify(filter), limit - tasks.length, nextAfter, window],
    });
    window = Math.min(8 * window, MOST_WINDOW);
    tasks.push(...rows[0]!.tasks);
    nextAfter = rows[0]!.next_after;
    if (rows[0]!.is_full) fullPages -= 1;
  } while (fullPages > 0 && tasks.length < limit && nextAfter !== null && performance.now() < until);
  return { tasks, nextAfter };
}

export interface Paging {
  /** Maximum number of tasks in all; unlimited by default. */
  readonly limit?: number | undefined;
  /** Maximum number of tasks on one page. */
  readonly pageSize?: number | undefined;
}

/** Find the tasks that fit, a page at a time, for verbs that act on many and need more than their ids. */
export async function* findPages(
  db: Queryable,
  filter: TaskFilter,
  { limit = Number.POSITIVE_INFINITY, pageSize = 1000 }: Paging = {},
): AsyncGenerator<readonly TaskRow[]> {
  let left = limit;
  let after: string | null = null;
  do {
    const page: TaskPage = await findTasks(db, filter, Math.min(pageSize, left), { after });
    if (page.tasks.length > 0) yield page.tasks;
    left -= page.tasks.length;
    after = page.nextAfter;
  } while (after !== null && left > 0);
}

/** Find the ids of all tasks that fit, a page at a time, for verbs that act on many. */
export async function* findIds(
  db: Queryable,
  filter: TaskFilter,
  { limit = Number.POSITIVE_INFINITY, pageSize = 1000 }: Paging = {},
): AsyncGenerator<readonly string[]> {
  let left = limit;
  let after: string | null = null;
  do {
    const rows: { ids: string[]; next_after: string | null }[] = await db.query({
      text: 'select ids::text[] as ids, next_after from taskq.find_ids($1, $2, $3)',
      values: [JSON.stringify(filter), Math.min(pageSize, left), after],
    });
    const { ids, next_after } = rows[0]!;
    if (ids.length > 0) yield ids;
    left -= ids.length;
    after = next_after;
  } while (after !== null && left > 0);
}
