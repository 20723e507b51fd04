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
  /** Newest first; dead letters alone by time of death. */
  readonly tasks: readonly Task[];
  /** What to give as `after` for the next page; null: this was the last. */
  readonly after: string | null;
}

/** How a verb acts on all tasks of a list. */
export interface BulkSettings {
  /** At most so many of them, the newest first; all unless told. */
  readonly limit?: number;
  /** Aborted, it ends with what it has done. */
  readonly signal?: AbortSignal;
  /** Name for the record, kept beside the role of the session. */
  readonly by?: string;
  /** Needed where the list has no filter: it is meant for every task. */
  readonly all?: true;
}

export interface RerunManySettings extends BulkSettings {
  /** Replaces the payloads. */
  readonly payload?: unknown;
  /** Wait this long before the first attempt. */
  readonly delay?: string | number;
}

export interface PageOptions {
  /** Maximum number of tasks; 100. */
  readonly limit?: number;
  /** The `after` of the previous page. */
  readonly after?: string | null;
}

/** Says what is wrong with a payload for a type; null: nothing. */
export type FindProblem = (type: string, payload: unknown) => Promise<string | null>;

/**
 * The tasks that fit a filter, newest first; dead letters alone by time of death. Iterate it for all of them, read a page
 * at a time as they are needed; or ask for one page, for a list that people leaf through; or run again what has finished.
 */
export class TaskList<Task = TaskRecord> implements AsyncIterable<Task> {
  readonly #ask: <T>(work: (db: Queryable) => Promise<T>) => Promise<T>;
  readonly #given: ListFilter;
  readonly #filter: TaskFilter;
  readonly #problemOf: FindProblem;

  /** `ask` runs what needs the database. */
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

  /**
   * One page. It is looked for a second: of a filter that fits few tasks of a large history it may have fewer than
   * `limit`, or none, although its `after` says that there may be more.
   */
  async page({ limit = 100, after = null }: PageOptions = {}): Promise<TaskPage<Task>> {
    const from = after === null ? null : checkedPlace(after);
    const most = checkedLimit(limit);
    const page = await this.#ask((db) => findTasks(db, this.#filter, most, { after: from, lookMs: LOOK_MS }));
    return { tasks: page.tasks.map((row) => recordOf(row) as Task), after: page.nextAfter };
  }

  /**
   * Run those again that have finished, each as a new task, as `rerun(id)` does: in pages, each a transaction. A held key,
   * or a payload that the schema of its handler refuses, keeps its task alone from running again: `answers` has the first
   * thousand of these, `counts` how many there are of each.
   */
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
