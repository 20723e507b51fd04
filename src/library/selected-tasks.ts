import { type EditChanges, storedChanges } from '../domain/edit-changes.ts';
import { InvalidPayloadError } from '../domain/errors.ts';
import { storedPayload } from '../domain/payload.ts';
import { checkedAfter } from '../domain/task-id.ts';
import { badOption } from '../lib/bad-option.ts';
import type { Queryable } from '../lib/database.ts';
import { findIds, findPages, findTasks } from '../queue/inspect/find-tasks.ts';
import {
  type BulkVerb,
  bulkFilter,
  FILTERED,
  type Filtered,
  type ListFilter,
  storedFilter,
  type TaskFilter,
} from '../queue/inspect/task-filter.ts';
import type { TaskRow } from '../queue/inspect/task-row.ts';
import { actInPages, type BulkAnswer, type BulkResult } from '../queue/operate/bulk.ts';
import { type CancelAnswer, cancel } from '../queue/operate/cancel.ts';
import { discard } from '../queue/operate/discard.ts';
import { EDIT_PAGE, type EditAnswer, edit, editNeedsAttention } from '../queue/operate/edit.ts';
import { purge } from '../queue/operate/purge.ts';
import { RERUN_PAGE, type RerunAnswer, rerunNeedsAttention, rerunValid } from '../queue/operate/rerun.ts';
import { type RetryAnswer, retry } from '../queue/operate/retry.ts';
import { type ReviveAnswer, revive } from '../queue/operate/revive.ts';
import { getEnds } from '../queue/protocol/get-ends.ts';
import { type DiscardAnswer, deletionOf, type PurgeAnswer } from './deletion.ts';
import { ACTING, known, type Names } from './known-options.ts';
import { reviveOptions } from './revive-options.ts';
import type {
  BulkSettings,
  CancelManySettings,
  PageOptions,
  RerunManySettings,
  ReviveManySettings,
  TaskList,
  TaskPage,
} from './task-list.ts';
import { recordOf, type TaskRecord } from './task-record.ts';

/** Returns what is wrong with a payload for a type; null if nothing. */
export type FindProblem = (type: string, payload: unknown) => Promise<string | null>;

const BULK: Names<BulkSettings> = { ...ACTING, limit: true, signal: true, all: true };

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

  async page(options: PageOptions = {}): Promise<TaskPage<Task>> {
    const { limit = 100, after = null } = known(options, { limit: true, after: true });
    const from = after === null ? null : checkedAfter(after);
    const most = checkedLimit(limit);
    const page = await this.#ask((db) => findTasks(db, this.#filter, most, { after: from, lookMs: LOOK_MS }));
    return { tasks: page.tasks.map((row) => recordOf(row) as Task), after: page.nextAfter };
  }

  cancel({ reason = null, by, ...bulk }: CancelManySettings = {}): Promise<BulkResult<CancelAnswer>> {
    return this.#act('cancel', bulk, {
      act: (db, ids, filter) => cancel(db, ids, reason, { by, filter }),
      keeps: ({ answer }) => answer === 'requested',
    });
  }

  retry({ by, reason, ...bulk }: BulkSettings = {}): Promise<BulkResult<RetryAnswer>> {
    return this.#act('retry', bulk, { act: (db, ids, filter) => retry(db, ids, { by, reason, filter }) });
  }

  async edit(
    { payload, ...changes }: EditChanges,
    { by, reason, ...bulk }: BulkSettings = {},
  ): Promise<BulkResult<EditAnswer>> {
    const other = payload === undefined ? undefined : storedPayload('the task', payload);
    const stored = storedChanges(changes, other);
    return this.#act('edit', bulk, {
      act: async (db, ids, filter) => {
        if (other !== undefined) await this.#checkTypes(db, ids, other.value);
        return edit(db, ids, stored, { by, reason, filter });
      },
      keeps: editNeedsAttention,
      pageSize: EDIT_PAGE,
    });
  }

  async rerun({
    by,
    reason,
    payload,
    delay,
    ...bulk
  }: RerunManySettings = {}): Promise<BulkResult<RerunAnswer>> {
    const filter = this.#filterOf('rerun', bulk);
    const other = payload === undefined ? undefined : storedPayload('the task', payload);
    const settings = { ...reviveOptions({ payload: other, delay }), by, reason, filter };
    const problemOf = (task: TaskRow) =>
      this.#problemOf(task.type, other === undefined ? task.payload : other.value);
    return this.#ask((db) =>
      actInPages(
        findPages(db, filter, { limit: bulk.limit, pageSize: RERUN_PAGE }),
        (tasks) => rerunValid(db, tasks, settings, problemOf),
        { signal: bulk.signal, keeps: rerunNeedsAttention },
      ),
    );
  }

  async revive({
    by,
    reason,
    payload,
    delay,
    maxAttempts,
    ...bulk
  }: ReviveManySettings = {}): Promise<BulkResult<ReviveAnswer>> {
    const other = payload === undefined ? undefined : storedPayload('the task', payload);
    const settings = { ...reviveOptions({ payload: other, delay, maxAttempts }), by, reason };
    return this.#act('dead revive', bulk, {
      act: async (db, ids, filter) => {
        if (other !== undefined) await this.#checkTypes(db, ids, other.value);
        return revive(db, ids, { ...settings, filter, byHand: filter.by_hand });
      },
      keeps: ({ answer }) => answer === 'key_held' || answer === 'refused',
    });
  }

  purge({ by, reason, ...bulk }: BulkSettings = {}): Promise<BulkResult<PurgeAnswer>> {
    return this.#act('purge', bulk, {
      act: async (db, ids, filter) => (await purge(db, ids, { by, reason, filter })).map(deletionOf),
      keeps: ({ heldKey }) => heldKey !== null,
    });
  }

  discard({ by, reason, ...bulk }: BulkSettings = {}): Promise<BulkResult<DiscardAnswer>> {
    return this.#act('dead discard', bulk, {
      act: async (db, ids, filter) =>
        (await discard(db, ids, { by, reason, filter, byHand: filter.by_hand })).map(deletionOf),
      keeps: ({ heldKey }) => heldKey !== null,
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Task, void, undefined> {
    let after: string | null = null;
    do {
      const page: TaskPage<Task> = await this.page({ limit: PAGE, after });
      yield* page.tasks;
      after = page.after;
    } while (after !== null);
  }

  async #act<Answer extends BulkAnswer>(
    verb: BulkVerb,
    bulk: Omit<BulkSettings, 'by' | 'reason'>,
    { act, keeps, pageSize }: Action<Answer>,
  ): Promise<BulkResult<Answer>> {
    const filter = this.#filterOf(verb, bulk);
    return this.#ask((db) =>
      actInPages(findIds(db, filter, { limit: bulk.limit, pageSize }), (ids) => act(db, ids, filter), {
        signal: bulk.signal,
        keeps,
      }),
    );
  }

  /** Returns the filter for all tasks that an action is for. Throws TaskqError. */
  #filterOf(verb: BulkVerb, bulk: Omit<BulkSettings, 'by' | 'reason'>): TaskFilter {
    const { limit, all } = known<BulkSettings>(bulk, BULK);
    const filtered: Filtered = FILTERED[verb];
    // A status that the action applies to anyway does not count as a filter.
    const { status, ...rest } = this.#given;
    const isImplied = [status ?? []].flat().every((one) => filtered.statuses.includes(one));
    const filter = bulkFilter('status' in filtered.not && isImplied ? rest : this.#given, filtered);
    if (Object.keys(this.#filter).length === 0 && all !== true)
      throw badOption(`this would ${EVERY[verb]}: give the list a filter, or say { all: true }`);
    if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1))
      throw badOption(`limit ${String(limit)}: expected a whole number from 1 on`);
    return filter;
  }

  /** Checks a payload against the schemas of the types of these tasks. Throws InvalidPayloadError. */
  async #checkTypes(db: Queryable, ids: readonly string[], payload: unknown): Promise<void> {
    const types = new Set((await getEnds(db, ids)).map(({ type }) => type));
    for (const type of types) {
      const problem = await this.#problemOf(type, payload);
      if (problem !== null) throw new InvalidPayloadError(type, problem);
    }
  }
}

/** The action of a bulk on a page of tasks. */
interface Action<Answer extends BulkAnswer> {
  readonly act: (db: Queryable, ids: readonly string[], filter: TaskFilter) => Promise<readonly Answer[]>;
  /** Whether an answer needs attention; by default none does. */
  readonly keeps?: (answer: Answer) => boolean;
  readonly pageSize?: number | undefined;
}

/** Describes what an action would do without a filter. */
const EVERY: Readonly<Record<BulkVerb, string>> = {
  cancel: 'cancel every live task',
  retry: 'retry every pending task',
  edit: 'change every waiting task',
  rerun: 'run every finished task again',
  purge: 'permanently delete every finished task',
  'dead revive': 'revive every dead letter',
  'dead discard': 'permanently delete every dead letter',
};

const PAGE = 500;
const LOOK_MS = 1000;
const MOST = 10_000;

function checkedLimit(limit: unknown): number {
  if (Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= MOST) return limit as number;
  throw badOption(`limit ${String(limit)}: expected a whole number from 1 to ${MOST}`);
}
