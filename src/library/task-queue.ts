import { checkPayload } from '../domain/check-payload.ts';
import { type EnqueueOptions, normaliseEnqueueOptions } from '../domain/enqueue-options.ts';
import { InvalidPayloadError, NoSuchTaskError, WaitDeadlineError } from '../domain/errors.ts';
import type { HandlerMap, PayloadOf, TypeOf, UnknownHandlers } from '../domain/handler-map.ts';
import { checkedName } from '../domain/names.ts';
import { storedPayload } from '../domain/payload.ts';
import type { StandardSchema } from '../domain/standard-schema.ts';
import { checkedTaskId } from '../domain/task-id.ts';
import { checkedUrl } from '../lib/checked-url.ts';
import type { Queryable } from '../lib/database.ts';
import { toDurationMs } from '../lib/duration.ts';
import { EXIT, TaskqError } from '../lib/errors.ts';
import { didYouMean } from '../lib/nearest.ts';
import { type PgClient, type PgPool, queryableOf } from '../lib/pg-client.ts';
import { SYNCHRONOUS_COMMITS, type SynchronousCommit } from '../lib/synchronous-commit.ts';
import { showTask } from '../queue/inspect/show-task.ts';
import type { ListFilter } from '../queue/inspect/task-filter.ts';
import { type CancelAnswer, cancel } from '../queue/operate/cancel.ts';
import { type KeyRelease, releaseKey } from '../queue/operate/keys.ts';
import { type RerunAnswer, rerun } from '../queue/operate/rerun.ts';
import { type ReviveAnswer, revive } from '../queue/operate/revive.ts';
import { type Enqueued, enqueue, type NewTask } from '../queue/protocol/enqueue.ts';
import { findByKey } from '../queue/protocol/find-by-key.ts';
import { refusalOf, troubleOf } from '../queue/protocol/refusal.ts';
import { enqueueStream, type Streamed } from './enqueue-stream.ts';
import { type KeyFilter, type KeyRecord, keyRecords } from './key-records.ts';
import type { Connection, ConnectionOptions } from './open-connection.ts';
import { endOf, type TaskEndOf } from './task-end.ts';
import { TaskList } from './task-list.ts';
import { type ShownTaskOf, shownOf, type TaskOf } from './task-record.ts';

export type TaskQueueOptions<Handlers> = {
  /** Handlers by type: payloads are checked against their schemas, and their types count as known. */
  readonly handlers?: Handlers;
  /** URL of the same database bypassing a connection pooler; without it `wait` may have to poll. */
  readonly directUrl?: string;
} & (
  | {
      /** URL of the PostgreSQL database; or pass a `pool`. */
      readonly databaseUrl: string;
      readonly pool?: undefined;
      /** Durability of commits, overriding the database; `on`. With less, a crash of the server may lose tasks. */
      readonly synchronousCommit?: SynchronousCommit;
    }
  | {
      /** A `pg.Pool` of the application, instead of `databaseUrl`. Its sessions are not changed, and it is never ended. */
      readonly pool: PgPool;
      readonly databaseUrl?: undefined;
      readonly synchronousCommit?: undefined;
    }
);

export interface Joining {
  /** A client in the caller's transaction: the task exists if and only if that commits. */
  readonly client?: PgClient;
  /** Accept a type that is not known. */
  readonly allowUnknown?: true;
  /**
   * Do not wake workers by NOTIFY, because a transaction that has notified cannot be prepared (PREPARE TRANSACTION).
   * An idle worker then finds the task when it next polls: within 5 s, or its `poll` if that is longer.
   */
  readonly notify?: false;
  /**
   * Its end will be waited for: then `wait` finds it, however soon it comes and whatever its retention. Without, a task of
   * retention `none` leaves nothing to find unless `wait` was called before it ended.
   */
  readonly notifyDone?: true;
}

/** A task for `enqueueMany`. */
export type TaskInput<Handlers extends HandlerMap = UnknownHandlers> = {
  [Type in TypeOf<Handlers>]: { readonly type: Type } & PayloadPart<PayloadOf<Handlers, Type>> &
    EnqueueOptions;
}[TypeOf<Handlers>];

type PayloadPart<Payload> =
  IsOptional<Payload> extends true ? { readonly payload?: Payload } : { readonly payload: Payload };

/** What `{}` is good enough for need not be said. */
type IsOptional<Payload> = Record<never, never> extends Payload ? true : false;

type EnqueueArguments<Payload> =
  IsOptional<Payload> extends true
    ? [payload?: Payload, options?: EnqueueOptions & Joining]
    : [payload: Payload, options?: EnqueueOptions & Joining];

export interface EnqueueManyOptions extends Joining {
  /** Called with the ids of each batch, in the order of its tasks, once it is stored. */
  readonly onEnqueued?: (answers: readonly Enqueued[]) => void;
}

export interface ReviveSettings {
  /** Replaces the payload. */
  readonly payload?: unknown;
  /** Wait this long before the first attempt. */
  readonly delay?: string | number;
  /** Number of attempts from now on; for `revive` only. */
  readonly maxAttempts?: number;
  /** Name for the record, kept beside the role of the session. */
  readonly by?: string;
}

export type RerunSettings = Omit<ReviveSettings, 'maxAttempts'>;

export interface WaitOptions {
  /** Longest wait, as text or in milliseconds; default: no limit. */
  readonly timeout?: string | number;
  /** Rejects the wait with its reason when aborted. */
  readonly signal?: AbortSignal;
}

/**
 * The queue, for an application that enqueues and looks. Nothing is opened before it is needed; `close` ends what was.
 * Name a map of handlers as its type, or give it as an option, and types, payloads and results are known.
 */
export class TaskQueue<Handlers extends HandlerMap = UnknownHandlers> {
  readonly #handlers: HandlerMap;
  readonly #options: ConnectionOptions;
  #connection: Promise<Connection> | undefined;
  #isClosed = false;

  constructor(options: TaskQueueOptions<Handlers>) {
    const { handlers, databaseUrl, pool, directUrl, synchronousCommit } = checkedOptions(options);
    this.#handlers = handlers ?? {};
    const direct = directUrl === undefined ? undefined : checkedUrl('directUrl', directUrl);
    if (databaseUrl !== undefined && pool === undefined) {
      this.#options = {
        databaseUrl: checkedUrl('databaseUrl', databaseUrl),
        directUrl: direct,
        synchronousCommit: checkedCommit(synchronousCommit),
      };
    } else if (pool !== undefined && databaseUrl === undefined) {
      this.#options = { pool, directUrl: direct };
    } else {
      const message = 'a TaskQueue needs a database: pass either databaseUrl or pool';
      throw new TaskqError('no_database', message, { exitCode: EXIT.usage });
    }
  }

  /**
   * Enqueue a task. A key that is held gives the id of the task that holds it, and `created` false. Throws
   * UnknownTypeError, InvalidPayloadError, or TaskqError for an option that cannot be.
   */
  async enqueue<Type extends TypeOf<Handlers>>(
    type: Type,
    ...[payload, { client, allowUnknown, notify, notifyDone, ...options } = {}]: EnqueueArguments<
      PayloadOf<Handlers, Type>
    >
  ): Promise<Enqueued> {
    const task = await this.#taskOf({ type, payload, ...options }, notifyDone);
    return this.#refusing(
      type,
      async () => {
        const db = client === undefined ? await this.#database() : queryableOf(client);
        const known = Object.hasOwn(this.#handlers, type) ? [type] : [];
        return enqueue(db, task, allowUnknown ?? known, notify);
      },
      client && 'the caller',
    );
  }

  /**
   * Enqueue all that an iterable gives, in batches: a transaction each, or all in the caller's. Holds no more than a
   * batch in memory. Throws PartlyEnqueuedError, which says how many are in, where it fails in the middle.
   */
  async enqueueMany(
    tasks: Iterable<TaskInput<Handlers>> | AsyncIterable<TaskInput<Handlers>>,
    { client, allowUnknown, notify, notifyDone, onEnqueued }: EnqueueManyOptions = {},
  ): Promise<Streamed> {
    const db = client === undefined ? await this.#database() : queryableOf(client);
    return enqueueStream(db, tasks, {
      taskOf: (item) => this.#taskOf(item, notifyDone),
      allowUnknown: allowUnknown ?? Object.keys(this.#handlers),
      notify,
      databaseUrl: this.#databaseUrl,
      commits: client === undefined ? 'each batch' : 'with the caller',
      onEnqueued,
    });
  }

  /** Everything there is to know of a task: by its id, or by the key it holds. Undefined: there is none. */
  async get(
    task: string | { readonly queue?: string; readonly key: string },
  ): Promise<ShownTaskOf<Handlers> | undefined> {
    return this.#withDatabase(async (db) => {
      const id = typeof task === 'string' ? checkedTaskId(task) : await holderOf(db, task);
      const shown = id === undefined ? undefined : await showTask(db, id);
      if (shown === undefined) return undefined;
      return shownOf(shown) as ShownTaskOf<Handlers>;
    });
  }

  /** The tasks that fit, newest first: iterate them, ask for a `page`, or `rerun` those that have finished. */
  list<Type extends TypeOf<Handlers> = TypeOf<Handlers>>(
    filter: ListFilter & { readonly type?: Type } = {},
  ): TaskList<Extract<TaskOf<Handlers>, { readonly type: Type }>> {
    return new TaskList(
      (work) => this.#withDatabase(work),
      filter,
      (ofType, payload) => this.#problemOf(ofType, payload),
    );
  }

  /** Cancel a task: one that waits ends at once, of one that runs the worker is told. */
  async cancel(
    id: string,
    { reason = null, by }: { readonly reason?: string | null; readonly by?: string } = {},
  ): Promise<CancelAnswer> {
    return this.#withDatabase(async (db) => (await cancel(db, [checkedTaskId(id)], reason, { by }))[0]!);
  }

  /**
   * Bring a dead letter back: the same id and history, all attempts anew. Throws InvalidPayloadError where its handler's
   * schema refuses the new payload.
   */
  async revive(id: string, { payload, delay, maxAttempts, by }: ReviveSettings = {}): Promise<ReviveAnswer> {
    const { max_attempts: most } = normaliseEnqueueOptions({ maxAttempts });
    const options = {
      ...(payload !== undefined && { payload: storedPayload('the task', payload).text }),
      ...(delay !== undefined && { delayMs: toDurationMs(delay, 'delay') }),
      ...(most !== undefined && { maxAttempts: most }),
      by,
    };
    return this.#withDatabase(async (db) => {
      checkedTaskId(id);
      if (payload !== undefined) await this.#checkNew(db, id, payload);
      return (await revive(db, [id], options))[0]!;
    });
  }

  /**
   * Run a finished task again, as a new task with the same payload and options, whose source says of which. Throws
   * InvalidPayloadError where its handler's schema refuses the payload.
   */
  async rerun(id: string, { payload, delay, by }: RerunSettings = {}): Promise<RerunAnswer> {
    const options = {
      ...(payload !== undefined && { payload: storedPayload('the task', payload).text }),
      ...(delay !== undefined && { delayMs: toDurationMs(delay, 'delay') }),
      by,
    };
    return this.#withDatabase(async (db) => {
      await this.#checkNew(db, checkedTaskId(id), payload);
      return (await rerun(db, [id], options))[0]!;
    });
  }

  /**
   * The keys that are held for a period or for ever, by queue and key: iterate them. Who holds a key while its task lives,
   * `get({ queue, key })` says.
   */
  listKeys(filter: KeyFilter = {}): AsyncIterable<KeyRecord> {
    return keyRecords((work) => this.#withDatabase(work), filter);
  }

  /**
   * Free a key that is held for a period or for ever, so that a task may be enqueued with it again. `live`: a live task has
   * it, and it is free when that has ended. `not_held`: it is free.
   */
  async releaseKey(
    { queue = 'default', key }: { readonly queue?: string; readonly key: string },
    { by }: { readonly by?: string } = {},
  ): Promise<KeyRelease> {
    const held = { queue: checkedName('queue', queue), key: checkedName('key', key) };
    return this.#withDatabase((db) => releaseKey(db, held, { by }));
  }

  /**
   * Wait until a task has ended, and say how. Throws WaitDeadlineError when the time is over (the task goes on),
   * NoSuchTaskError when nothing is known of it (of a task of retention `none` that has ended already, unless it was
   * enqueued with `notifyDone`), and the signal's reason.
   */
  async wait<Type extends TypeOf<Handlers> = TypeOf<Handlers>>(
    id: string,
    { timeout, signal }: WaitOptions = {},
  ): Promise<TaskEndOf<Handlers, Type>> {
    const limits = { signal, ...(timeout !== undefined && { timeoutMs: toDurationMs(timeout, 'timeout') }) };
    checkedTaskId(id);
    const waited = await this.#refusing('', async () => (await this.#open()).watch.wait(id, limits));
    if (waited.kind === 'deadline') throw new WaitDeadlineError(id);
    if (waited.kind === 'gone') throw new NoSuchTaskError(id);
    return endOf(waited.end) as TaskEndOf<Handlers, Type>;
  }

  /** End what this queue has opened; whoever waits is told. A pool that was given stays open. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const connection = await this.#connection?.catch(() => undefined);
    await connection?.close(closed());
  }

  #open(): Promise<Connection> {
    if (this.#isClosed) return Promise.reject(closed());
    // What reaches the database is loaded with its first use: a handler that imports us needs none of it.
    this.#connection ??= import('./open-connection.ts')
      .then(({ openConnection }) => openConnection(this.#options))
      .catch((error: unknown) => {
        this.#connection = undefined;
        throw error;
      });
    return this.#connection;
  }

  async #database(): Promise<Queryable> {
    return (await this.#open()).db;
  }

  get #databaseUrl(): string | undefined {
    return 'databaseUrl' in this.#options ? this.#options.databaseUrl : undefined;
  }

  #withDatabase<T>(work: (db: Queryable) => Promise<T>): Promise<T> {
    return this.#refusing('', async () => work(await this.#database()));
  }

  async #refusing<T>(
    type: string,
    work: () => Promise<T>,
    whose: 'ours' | 'the caller' = 'ours',
  ): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw whose === 'ours' ? troubleOf(error, type, this.#databaseUrl) : refusalOf(error, type);
    }
  }

  /** Check a payload for a task that is there; undefined: the task's own. */
  async #checkNew(db: Queryable, id: string, payload: unknown): Promise<void> {
    const task = await showTask(db, id);
    if (task === undefined) return;
    const value = payload === undefined ? task.payload : storedPayload('the task', payload).value;
    const problem = await this.#problemOf(task.type, value);
    if (problem !== null) throw new InvalidPayloadError(task.type, problem);
  }

  /** What the schema of a type's handler has against a payload; null: nothing. */
  async #problemOf(type: string, payload: unknown): Promise<string | null> {
    const checked = await checkPayload(this.#schemaOf(type), payload);
    return 'problem' in checked ? checked.problem : null;
  }

  async #taskOf(
    input: EnqueueOptions & { readonly type: string; readonly payload?: unknown },
    notifyDone?: true,
  ): Promise<NewTask> {
    const { type, payload, ...options } = input;
    checkedName('type', type);
    const { text, value } = storedPayload(type, payload);
    // What is stored is checked, as it will be before it runs: of a Date, its text.
    const checked = await checkPayload(this.#schemaOf(type), value);
    if ('problem' in checked) throw new InvalidPayloadError(type, checked.problem);
    const stored = normaliseEnqueueOptions(options);
    return { type, payload: text, options: notifyDone ? { ...stored, notify_done: true } : stored };
  }

  #schemaOf(type: string): StandardSchema | undefined {
    const handler = Object.hasOwn(this.#handlers, type) ? this.#handlers[type] : undefined;
    return handler !== undefined && 'schema' in handler ? (handler.schema as StandardSchema) : undefined;
  }
}

function holderOf(
  db: Queryable,
  { queue = 'default', key }: { readonly queue?: string; readonly key: string },
): Promise<string | undefined> {
  return findByKey(db, checkedName('queue', queue), checkedName('key', key));
}

function checkedOptions<Handlers>(options: TaskQueueOptions<Handlers>): TaskQueueOptions<Handlers> {
  // A caller without types may give none at all.
  const given: object = options ?? {};
  const unknown = Object.keys(given).find((name) => !OPTIONS.includes(name));
  if (unknown === undefined) return given as TaskQueueOptions<Handlers>;
  const message = `unknown option "${unknown}"${didYouMean(unknown, OPTIONS)}`;
  throw new TaskqError('bad_option', message, { exitCode: EXIT.usage });
}

const OPTIONS = ['handlers', 'databaseUrl', 'pool', 'directUrl', 'synchronousCommit'];

function checkedCommit(given: SynchronousCommit | undefined): SynchronousCommit | undefined {
  if (given === undefined || SYNCHRONOUS_COMMITS.includes(given)) return given;
  const message = `synchronousCommit ${JSON.stringify(given)}: expected ${SYNCHRONOUS_COMMITS.join(', ')}`;
  throw new TaskqError('bad_option', message, { exitCode: EXIT.usage });
}

function closed(): TaskqError {
  return new TaskqError('closed', 'the queue is closed');
}
