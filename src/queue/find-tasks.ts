import type { Queryable } from '../lib/database.ts';
import type { TaskRow } from './task-row.ts';

/** Every field that is given must fit. */
export interface TaskFilter {
  readonly status?: readonly string[];
  /** Waiting after a failed attempt, or dead. */
  readonly failed?: true;
  readonly type?: string;
  readonly queue?: string;
  readonly key?: string;
  readonly tags?: Readonly<Record<string, string>>;
  /** 0 to 9. */
  readonly priority?: number;
  /** ISO 8601: created since then; dead letters: died since then. */
  readonly since?: string;
  /** Of a dead letter, or of a request to cancel. */
  readonly reason?: string;
  readonly by_hand?: boolean;
}

export interface TaskPage {
  /** Newest first; dead letters alone by time of death. */
  readonly tasks: readonly TaskRow[];
  /** Where the next page begins; null: there is none. */
  readonly nextAfter: string | null;
}

/** Find up to `limit` tasks from where the page before said (null: the newest), looking at the tables in pages until there are enough. */
export async function findTasks(
  db: Queryable,
  filter: TaskFilter,
  limit: number,
  after: string | null = null,
): Promise<TaskPage> {
  const tasks: TaskRow[] = [];
  let nextAfter = after;
  do {
    const rows: { tasks: TaskRow[]; next_after: string | null }[] = await db.query({
      text: 'select tasks, next_after from taskq.find_tasks($1, $2, $3)',
      values: [JSON.stringify(filter), limit - tasks.length, nextAfter],
    });
    tasks.push(...rows[0]!.tasks);
    nextAfter = rows[0]!.next_after;
  } while (tasks.length < limit && nextAfter !== null);
  return { tasks, nextAfter };
}

/** All ids that fit, a page of 1,000 at a time, for verbs that act on many. */
export async function* findIds(db: Queryable, filter: TaskFilter): AsyncGenerator<string[]> {
  let after: string | null = null;
  do {
    const page: TaskPage = await findTasks(db, filter, 1000, after);
    if (page.tasks.length > 0) yield page.tasks.map((task) => task.id);
    after = page.nextAfter;
  } while (after !== null);
}
