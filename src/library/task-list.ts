import { storedPayload } from '../domain/payload.ts';
import { checkedTaskId } from '../domain/task-id.ts';
import type { Queryable } from '../lib/database.ts';
import { toDurationMs } from '../lib/duration.ts';
import { EXIT, TaskqError } from '../lib/errors.ts';
import { findPages, findTasks } from '../queue/inspect/find-tasks.ts';
import {
  bulkFilter,
  FILTERED,
  type ListFilter,
  storedFilter,
  type TaskFilter,
} from '../queue/inspect/task-filter.ts';
import type { TaskRow } from '../queue/inspect/task-row.ts';
import { actInPages, type BulkResult } from '../queue/operate/bulk.ts';
import { RERUN_PAGE, type RerunAnswer, rerunValid } from '../queue/operate/rerun.ts';
import { recordOf, type TaskRecord } from './task-record.ts';

export interface TaskPage<Task> {
  /** Newest first; if only dead letters, by time of death. */
  readonly tasks: readonly Task[];
  /** Pass as `after` for the next page; null if this is the last. */
  readonly after: string | null;
}

/** Settings of an action on all tasks of a list. */
export interface BulkSettings {
  /** Maximum number of tasks, newest first; default: all. */
  readonly limit?: number;
  /** When aborted, it stops and returns what it has done. */
  readonly signal?: AbortSignal;
  /** Name to record beside the session's role. */
  readonly by?: string;
  /** Required if the list has no filter: confirms that every task is meant. */
  readonly all?: true;
}

export interface RerunManySettings extends BulkSettings {
  /** Replaces the payloads. */
  readonly payload?: unknown;
  /** Wait this long before the first attempt. */
  readonly delay?: string | number;
}

export interface PageOptions {
  /** Maximum number of tasks; default 100. */
  readonly limit?: number;
  /** The `after` of the previous page. */
  readonly after?: string | null;
}

/**
 * The tasks that match a filter, newest first; if only dead letters, by time of death. Iterate over it to read all of
 * them, a page at a time as needed; or ask for one page, for a list that people browse; or rerun the finished ones.
 */
export interface TaskList<Task = TaskRecord> extends AsyncIterable<Task> {
  /**
   * Returns one page, after searching for a second at most. If few tasks of a large history match the filter, it may
   * have fewer tasks than `limit`, or none, although its `after` shows that there may be more. Throws TaskqError for an
   * invalid option.
   */
  page(options?: PageOptions): Promise<TaskPage<Task>>;
  /**
   * Reruns the finished tasks, each as a new task, as `rerun(id)` does: in pages, each a transaction. A task whose key
   * is held, or whose payload its handler's schema refuses, is left out: `counts` has the number of tasks by answer,
   * `answers` the first thousand that were left out. Throws TaskqError if the list has no filter and `all` is not set.
   */
  rerun(settings?: RerunManySettings): Promise<BulkResult<RerunAnswer>>;
}

/** Returns what is wrong with a payload for a type; null if nothing. */
export type FindProblem = (type: string, payload: unknown) => Promise<string | null>;

/** A list that reads and acts when asked. */
export class SelectedTasks<Task = TaskRecord> implements TaskList<Task> {
  readonly #ask: <T>(work: (db: Queryable) => Promise<T>) => Promise<T>;
  readonly #given: ListFilter;
  readonly #filter: TaskFilter;
  readonly #problemOf: FindProblem;

  /** `ask` runs work that needs the database. Throws TaskqError for an invalid filter. */
  constructor(
    ask: <T>(work: (db: Queryable) => Promise<T>) => Promise<T>,
    filter: ListFilter,
    problemOf: FindProblem,
  ) {
    this.#ask = ask;
    this.#given = filter;
    this.#filter = storedFilter(filter);
    this.#problemOf = problemOf;
  }

  async page({ limit = 100, after = null }: PageOptions = {}): Promise<TaskPage<Task>> {
    const from = after === null ? null : checkedPlace(after);
    const most = checkedLimit(limit);
    const page = await this.#ask((db) => findTasks(db, this.#filter, most, { after: from, lookMs: LOOK_MS }));
    return { tasks: page.tasks.map((row) => recordOf(row) as Task), after: page.nextAfter };
  }

  async rerun({
    limit,
    signal,
    by,
    all,
    payload,
    delay,
  }: RerunManySettings = {}): Promise<BulkResult<RerunAnswer>> {
    const filter = bulkFilter(this.#given, FILTERED.rerun);
    if (Object.keys(this.#filter).length === 0 && all !== true)
      throw refused('this would run every finished task again: give the list a filter, or say { all: true }');
    if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1))
      throw refused(`limit ${String(limit)}: expected a whole number from 1 on`);
    const other = payload === undefined ? undefined : storedPayload('the task', payload);
    const told = {
      ...(other !== undefined && { payload: other.text }),
      ...(delay !== undefined && { delayMs: toDurationMs(delay, 'delay') }),
      by,
    };
    const problemOf = (task: TaskRow) =>
      this.#problemOf(task.type, other === undefined ? task.payload : other.value);
    return this.#ask((db) =>
      actInPages(
        findPages(db, filter, { limit, pageSize: RERUN_PAGE }),
        (tasks) => rerunValid(db, tasks, told, problemOf),
        { signal, keeps: ({ answer }) => answer !== 'enqueued' },
      ),
    );
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
const LOOK_MS = 1000;
const MOST = 10_000;

/** Accepts an id or, for a page of dead letters, a time of death and an id. */
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
