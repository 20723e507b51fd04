import { type EditChanges, type StoredChanges, storedChanges } from '../domain/edit-changes.ts';
import type { OperationLimits, OperationState, OperationVerb } from '../domain/operation.ts';
import { storedPayload } from '../domain/payload.ts';
import { checkedOperationId } from '../domain/task-id.ts';
import type { Queryable } from '../lib/database.ts';
import type { ListedOperation } from '../queue/inspect/list-operations.ts';
import { ACTING, known, type Names } from './known-options.ts';
import { newOperationOf, type OperationFilter } from './new-operation.ts';
import { type OperationRecord, operationOf } from './operation-records.ts';

/** An operation to be started. */
export interface OperationSettings extends OperationLimits {
  readonly verb: OperationVerb;
  /** Which tasks; an empty one (every task that the verb is for) needs `expect`. */
  readonly filter: OperationFilter;
  /** Reason for the record. */
  readonly reason?: string;
  /** Name to record beside the session's role. */
  readonly by?: string;
  /** Of a revive and a rerun: replaces the payloads. */
  readonly payload?: unknown;
  /** Of a revive: a JSON merge patch (RFC 7386) of each payload: members replace those of their name, null removes. */
  readonly patch?: Readonly<Record<string, unknown>>;
  /** Of an edit: what to change of each task. */
  readonly changes?: EditChanges;
  /** Of a revive and a rerun: wait this long before the first attempt. */
  readonly delay?: string | number;
  /** Of a revive: number of attempts from now on. */
  readonly maxAttempts?: number | 'unlimited';
}

/** What an operation would act on. */
export interface OperationPreview {
  readonly matched: number;
  /** There may be more: counting ends at 10,000. */
  readonly atLeast: boolean;
  /** The first ten. */
  readonly ids: readonly string[];
}

/** Verbs on many tasks that the database stores: workers carry them out, even if the process that started them ends. */
export interface Operations {
  /** Counts the tasks that an operation would act on, and changes nothing. */
  dryRun(operation: OperationSettings): Promise<OperationPreview>;
  /**
   * Starts an operation; if nothing matches, it has completed. Throws TaskqError: `bad_option`, or
   * `unexpected_matches` if another number of tasks matches than `expect`.
   */
  start(operation: OperationSettings & { readonly expect?: number }): Promise<OperationRecord>;
  /** Returns an operation; undefined: there is none, or it ended more than 90 days ago. */
  get(id: string): Promise<OperationRecord | undefined>;
  /** Iterates over the operations, newest first. */
  list(filter?: { readonly state?: OperationState }): AsyncIterable<OperationRecord>;
  /** Stops an operation; what it has done stays done. Returns false if it had ended, or there is none. */
  stop(id: string, settings?: { readonly by?: string; readonly reason?: string }): Promise<boolean>;
}

/** Implements the operations with the connection of a queue. */
export class QueueOperations implements Operations {
  readonly #ask: <T>(work: (db: Queryable) => Promise<T>) => Promise<T>;

  constructor(ask: <T>(work: (db: Queryable) => Promise<T>) => Promise<T>) {
    this.#ask = ask;
  }

  async dryRun(operation: OperationSettings): Promise<OperationPreview> {
    const { startOperation } = await verbs();
    const asked = newOperationOf({ ...givenOf(known(operation, OPERATION)), dryRun: true });
    const { matched, at_least: atLeast, ids } = await this.#ask((db) => startOperation(db, asked));
    return { matched, atLeast, ids };
  }

  async start(settings: OperationSettings & { readonly expect?: number }): Promise<OperationRecord> {
    const { expect, ...operation } = known(settings, { ...OPERATION, expect: true });
    const { startedId, startOperation } = await verbs();
    const { showOperation } = await inspections();
    const asked = newOperationOf({ ...givenOf(operation), expect });
    return this.#ask(async (db) => {
      const id = startedId(await startOperation(db, asked), expect);
      return operationOf((await showOperation(db, id))!);
    });
  }

  async get(id: string): Promise<OperationRecord | undefined> {
    checkedOperationId(id);
    const { showOperation } = await inspections();
    const found = await this.#ask((db) => showOperation(db, id));
    return found && operationOf(found);
  }

  list(filter: { readonly state?: OperationState } = {}): AsyncGenerator<OperationRecord, void, undefined> {
    return this.#list(known(filter, { state: true }));
  }

  async *#list({
    state,
  }: {
    readonly state?: OperationState;
  }): AsyncGenerator<OperationRecord, void, undefined> {
    const { listOperations } = await inspections();
    for (let after: string | null = null; ; ) {
      const from: string | null = after;
      const found: ListedOperation[] = await this.#ask((db) =>
        listOperations(db, { state, limit: PAGE, after: from }),
      );
      yield* found.map(operationOf);
      if (found.length < PAGE) return;
      after = found.at(-1)!.id;
    }
  }

  async stop(
    id: string,
    settings: { readonly by?: string; readonly reason?: string } = {},
  ): Promise<boolean> {
    checkedOperationId(id);
    known(settings, ACTING);
    const { stopOperation } = await verbs();
    return (await this.#ask((db) => stopOperation(db, id, settings))).answer === 'stopped';
  }
}

const OPERATION: Names<OperationSettings> = {
  ...{ ...ACTING, verb: true, filter: true, payload: true, patch: true, changes: true, delay: true },
  ...{ maxAttempts: true, rate: true, canary: true, stopAt: true },
};

function givenOf({ payload, patch, changes, ...operation }: OperationSettings) {
  return {
    ...operation,
    changes: changes && changesOf(changes),
    payload: payload === undefined ? undefined : storedPayload('the task', payload),
    patch: patch === undefined ? undefined : storedPayload('the patch', patch),
  };
}

function changesOf({ payload, ...changes }: EditChanges): StoredChanges {
  return storedChanges(changes, payload === undefined ? undefined : storedPayload('the task', payload));
}

/** Imported when first used: an application without operations loads nothing for them. */
function verbs() {
  return import('../queue/operate/operations.ts');
}

function inspections() {
  return import('../queue/inspect/list-operations.ts');
}

const PAGE = 100;
