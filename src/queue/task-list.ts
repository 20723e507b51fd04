import { checkedTaskId } from '../domain/task-id.ts';
import type { Queryable } from '../lib/database.ts';
import { EXIT, TaskqError } from '../lib/errors.ts';
import { findTasks } from './find-tasks.ts';
import { type ListFilter, storedFilter, type TaskFilter } from './task-filter.ts';
import { recordOf, type TaskRecord } from './task-record.ts';

export interface TaskPage<Task> {
  /** Newest first; dead letters alone by time of death. */
  readonly tasks: readonly Task[];
  /** What to give as `after` for the next page; null: this was the last. */
  readonly after: string | null;
}

export interface PageOptions {
  /** At most so many tasks; 100 unless told. */
  readonly limit?: number;
  /** The next page: what the page before gave. */
  readonly after?: string | null;
}

/**
 * The tasks that fit a filter, newest first; dead letters alone by time of death. Iterate it for all of them, read a page at a time as they are needed; or
 * ask for one page, for a list that people leaf through.
 */
export class TaskList<Task = TaskRecord> implements AsyncIterable<Task> {
  readonly #ask: <T>(work: (db: Queryable) => Promise<T>) => Promise<T>;
  readonly #filter: TaskFilter;

  /** `ask` runs what needs the database. */
  constructor(ask: <T>(work: (db: Queryable) => Promise<T>) => Promise<T>, filter: ListFilter) {
    this.#ask = ask;
    this.#filter = storedFilter(filter);
  }

  async page({ limit = 100, after = null }: PageOptions = {}): Promise<TaskPage<Task>> {
    const from = after === null ? null : checkedPlace(after);
    const most = checkedLimit(limit);
    const page = await this.#ask((db) => findTasks(db, this.#filter, most, from));
    return { tasks: page.tasks.map((row) => recordOf(row) as Task), after: page.nextAfter };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Task, void, undefined> {
    let after: string | null = null;
    do {
      const page: TaskPage<Task> = await this.page({ limit: PAGE, after });
      yield* page.tasks;
      after = page.after;
    } while (after !== null);
  }
}

const PAGE = 500;
const MOST = 10_000;

/** An id; of a page of dead letters a time of death and an id. */
function checkedPlace(after: string): string {
  return /^-?\d{1,18}-\d{1,18}$/.test(after) ? after : checkedTaskId(after, 'after');
}

function checkedLimit(limit: unknown): number {
  if (Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= MOST) return limit as number;
  throw refused(`limit ${String(limit)}: expected a whole number from 1 to ${MOST}`);
}

function refused(problem: string): TaskqError {
  return new TaskqError('bad_option', problem, { exitCode: EXIT.usage });
}
