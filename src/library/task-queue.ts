import { checkPayload } from '../domain/check-payload.ts';
import { type EditChanges, storedChanges } from '../domain/edit-changes.ts';
import { type EnqueueOptions, normaliseEnqueueOptions } from '../domain/enqueue-options.ts';
import { NoSuchTaskError, WaitDeadlineError } from '../domain/errors.ts';
import type { HandlerMap, PayloadOf, TypeOf, UnknownHandlers } from '../domain/handler-map.ts';
import { checkedName } from '../domain/names.ts';
import { storedPayload } from '../domain/payload.ts';
import type { StandardSchema } from '../domain/standard-schema.ts';
import { checkedTaskId } from '../domain/task-id.ts';
import type { WorkflowOptions } from '../domain/workflow/workflow-options.ts';
import { badOption } from '../lib/bad-option.ts';
import { checkedUrl } from '../lib/checked-url.ts';
import type { Queryable } from '../lib/database.ts';
import { toDurationMs } from '../lib/duration.ts';
import { TaskqError } from '../lib/errors.ts';
import { type PgClient, queryableOf } from '../lib/pg-client.ts';
import { explainTask } from '../queue/inspect/explain-task.ts';
import { listDeadGroups } from '../queue/inspect/list-dead-groups.ts';
import { listMetrics } from '../queue/inspect/list-metrics.ts';
import { listQueues } from '../queue/inspect/list-queues.ts';
import { showGroup } from '../queue/inspect/show-group.ts';
import { showTask } from '../queue/inspect/show-task.ts';
import { stats } from '../queue/inspect/stats.ts';
import type { ListFilter } from '../queue/inspect/task-filter.ts';
import { type CancelAnswer, cancel } from '../queue/operate/cancel.ts';
import { discard } from '../queue/operate/discard.ts';
import { type EditAnswer, edit } from '../queue/operate/edit.ts';
import { pauseGroup, resumeGroup, setGroup } from '../queue/operate/groups.ts';
import { type KeyRelease, releaseKey } from '../queue/operate/keys.ts';
import { pauseQueue, resumeQueue } from '../queue/operate/pause-queue.ts';
import { purge } from '../queue/operate/purge.ts';
import { type RerunAnswer, rerun } from '../queue/operate/rerun.ts';
import { resumeType } from '../queue/operate/resume-type.ts';
import { type RetryAnswer, retry } from '../queue/operate/retry.ts';
import { type ReviveAnswer, revive } from '../queue/operate/revive.ts';
import { setQueue } from '../queue/operate/set-queue.ts';
import { setType } from '../queue/operate/set-type.ts';
import { type Enqueued, enqueue, type NewTask } from '../queue/protocol/enqueue.ts';
import { findByKey } from '../queue/protocol/find-by-key.ts';
import { newTask, refuseMisfit } from '../queue/protocol/new-task.ts';
import { refusalOf, troubleOf } from '../queue/protocol/refusal.ts';
import { type EnqueuedMany, sendBulks } from '../queue/protocol/send-bulks.ts';
import type { ActingSettings } from './acting-settings.ts';
import { type AuditFilter, type AuditRecord, auditRecords } from './audit-records.ts';
import { bulksOf } from './bulks-of.ts';
import {
  groupChangesOf,
  type QueueChanges,
  queueChangesOf,
  type TypeChanges,
  typeChangesOf,
} from './changed-settings.ts';
import { type DeadGroupRecord, deadGroupOf } from './dead-group-records.ts';
import { type DiscardAnswer, deletionOf, type PurgeAnswer } from './deletion.ts';
import {
  type CheckedEventOptions,
  checkedEventOptions,
  type EventOptions,
  type TaskEvent,
  taskEvents,
} from './event-records.ts';
import { explanationOf, type TaskExplanation } from './explanation.ts';
import { type Figures, figuresOf } from './figures.ts';
import {
  type GroupChanges,
  type GroupDetails,
  type GroupFilter,
  type GroupPauseSettings,
  type GroupRecord,
  groupDetailsOf,
  groupRecords,
} from './group-records.ts';
import { type KeyFilter, type KeyRecord, keyRecords } from './key-records.ts';
import { ACTING, known } from './known-options.ts';
import {
  type MetricsOptions,
  type MetricsRecord,
  metricsFilter,
  metricsRecordOf,
} from './metrics-records.ts';
import type { MigrateSettings } from './migrate-for.ts';
import type { Connection, ConnectionOptions } from './open-connection.ts';
import { type Operations, QueueOperations } from './operations.ts';
import { type PauseSettings, pauseOf, type QueuePause } from './queue-pause.ts';
import { reviveOptions } from './revive-options.ts';
import { QueueSchedules, type Schedules } from './schedules.ts';
import { SelectedTasks } from './selected-tasks.ts';
import { endOf, type TaskEndOf } from './task-end.ts';
import type { TaskList } from './task-list.ts';
import {
  checkedCommit,
  checkedOptions,
  ENQUEUE_MANY,
  type EnqueueArguments,
  type EnqueueManyOptions,
  RERUN,
  REVIVE,
  type RerunSettings,
  type ReviveSettings,
  type TaskInput,
  type TaskQueueOptions,
  WAIT,
  type WaitOptions,
} from './task-queue-options.ts';
import { type ShownTaskOf, shownOf, type TaskOf } from './task-record.ts';
import { type BuilderHost, QueueWorkflowBuilder, type WorkflowBuilder } from './workflow-builder.ts';
import { QueueWorkflows, type Workflows } from './workflows.ts';

/**
 * A queue for an application that enqueues and inspects tasks. Connects on first use; `close` closes what it opened.
 * With a map of handlers as its type parameter or its option, types, payloads and results are typed.
 */
export class TaskQueue<Handlers extends HandlerMap = UnknownHandlers> {
  readonly #handlers: HandlerMap;
  readonly #options: ConnectionOptions;
  #connection: Promise<Connection> | undefined;
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;
  /** Tasks that workers enqueue at regular times. */
  readonly schedules: Schedules<TypeOf<Handlers>> = new QueueSchedules<TypeOf<Handlers>>({
    withDatabase: (work) => this.#withDatabase(work),
    refuseMisfit: (type, payload) => refuseMisfit(type, this.#schemaOf(type), payload),
  });

  /** Verbs on many tasks that outlive this process. */
  readonly operations: Operations = new QueueOperations((work) => this.#withDatabase(work));

  readonly #workflows = new QueueWorkflows({
    withDatabase: (work, client) => this.#withDatabase(work, client),
    waitFor: (id, limits) =>
      this.#refusing('', async () => (await this.#open()).workflowWaiter.wait(id, limits)),
    knownTypes: () => Object.keys(this.#handlers),
  });
  /** Tasks that wait for each other. */
  readonly workflows: Workflows = this.#workflows;

  /** Opens no connection. Throws TaskqError for an invalid option. */
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
      throw new TaskqError('no_database', message, {
        hint: 'is DATABASE_URL set? That of the local PostgreSQL is what taskq db url prints',
      });
    }
  }

  /**
   * Enqueues a task and returns its id. If its key is held, returns the id of the task that holds it, with `created`
   * false. Throws UnknownTypeError, InvalidPayloadError, or TaskqError for an invalid option.
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
   * Enqueues the tasks of an iterable in batches: a transaction each, or all in the caller's. Holds at most one batch
   * in memory. Returns how many were created, and how many were not because their keys were held. If it fails, throws
   * PartlyEnqueuedError, which counts the tasks that are enqueued; in the caller's transaction, throws the error
   * itself.
   */
  async enqueueMany(
    tasks: Iterable<TaskInput<Handlers>> | AsyncIterable<TaskInput<Handlers>>,
    options: EnqueueManyOptions = {},
  ): Promise<EnqueuedMany> {
    const { client, allowUnknown, notify, notifyDone, onEnqueued } = known(options, ENQUEUE_MANY);
    const db = client === undefined ? await this.#database() : queryableOf(client);
    const bulks = bulksOf(tasks, {
      taskOf: (item) => this.#taskOf(item, notifyDone),
      allowUnknown: allowUnknown ?? Object.keys(this.#handlers),
      notify,
    });
    return sendBulks(db, bulks, {
      commits: client === undefined ? 'each bulk' : 'with the caller',
      explain: (error) =>
        client === undefined ? troubleOf(error, '', this.#databaseUrl) : refusalOf(error, ''),
      onEnqueued,
    });
  }

  /**
   * Begins a workflow: tasks that wait for each other. Add them with `task`, and store it with `start`. Throws
   * TaskqError for an invalid name or option.
   */
  workflow(name: string, options: WorkflowOptions = {}): WorkflowBuilder<Handlers> {
    const host: BuilderHost = {
      taskOf: (task, notifyDone) => this.#taskOf(task, notifyDone),
      start: (started, settings) => this.#workflows.start(started, settings),
    };
    return new QueueWorkflowBuilder<Handlers>(host, name, options);
  }

  /** Returns everything known about a task, found by its id or by the key it holds; undefined if there is none. */
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

  /** Returns why a task does not run, or where it does; undefined if there is no such task. */
  async explain(id: string): Promise<TaskExplanation | undefined> {
    return this.#withDatabase(async (db) => {
      const explained = await explainTask(db, checkedTaskId(id));
      return explained && explanationOf(explained);
    });
  }

  /**
   * Returns the tasks that match, newest first: iterate over them, ask for a `page`, or act on all of them with
   * `cancel`, `retry`, `edit`, `rerun`, `revive`, `purge` or `discard`. Throws TaskqError for an invalid filter.
   */
  list<Type extends TypeOf<Handlers> = TypeOf<Handlers>>(
    filter: ListFilter & { readonly type?: Type } = {},
  ): TaskList<TaskOf<Handlers, Type>> {
    return new SelectedTasks(
      (work) => this.#withDatabase(work),
      filter,
      (ofType, payload) => this.#problemOf(ofType, payload),
    );
  }

  /** Cancels a task: a waiting task ends at once; the worker of a running task is notified. */
  async cancel(
    id: string,
    settings: { readonly reason?: string | null; readonly by?: string } = {},
  ): Promise<CancelAnswer> {
    const { reason = null, by } = known(settings, ACTING);
    return this.#withDatabase(async (db) => (await cancel(db, [checkedTaskId(id)], reason, { by }))[0]!);
  }

  /** Makes a waiting task due now, whatever it waits for; one that was due keeps its place. */
  async retry(id: string, acting: ActingSettings = {}): Promise<RetryAnswer> {
    known(acting, ACTING);
    return this.#withDatabase(async (db) => (await retry(db, [checkedTaskId(id)], acting))[0]!);
  }

  /**
   * Changes the payload, priority, queue or time of a waiting task, also of one that waits for a retry, a slot or its
   * parents. A task that has been claimed stays as it is (`not_waiting`). Throws InvalidPayloadError if its handler's
   * schema refuses the new payload.
   */
  async edit(
    id: string,
    { payload, ...changes }: EditChanges,
    acting: ActingSettings = {},
  ): Promise<EditAnswer> {
    known(acting, ACTING);
    const other = payload === undefined ? undefined : storedPayload('the task', payload);
    const stored = storedChanges(changes, other);
    return this.#withDatabase(async (db) => {
      checkedTaskId(id);
      if (payload !== undefined) await this.#checkNew(db, id, payload);
      return (await edit(db, [id], stored, acting))[0]!;
    });
  }

  /** Deletes a finished task for good, with the errors of its attempts. */
  async purge(id: string, acting: ActingSettings = {}): Promise<PurgeAnswer> {
    known(acting, ACTING);
    return this.#withDatabase(async (db) => deletionOf((await purge(db, [checkedTaskId(id)], acting))[0]!));
  }

  /** Deletes a dead letter for good, also one added by hand. */
  async discard(id: string, acting: ActingSettings = {}): Promise<DiscardAnswer> {
    known(acting, ACTING);
    return this.#withDatabase(async (db) => deletionOf((await discard(db, [checkedTaskId(id)], acting))[0]!));
  }

  /**
   * Revives a dead letter: same id and history, all attempts again. Throws InvalidPayloadError if its handler's schema
   * refuses the new payload.
   */
  async revive(id: string, settings: ReviveSettings = {}): Promise<ReviveAnswer> {
    const { payload, delay, maxAttempts, by, reason } = known(settings, REVIVE);
    const stored = payload === undefined ? undefined : storedPayload('the task', payload);
    const options = { ...reviveOptions({ payload: stored, delay, maxAttempts }), by, reason };
    return this.#withDatabase(async (db) => {
      checkedTaskId(id);
      if (payload !== undefined) await this.#checkNew(db, id, payload);
      return (await revive(db, [id], options))[0]!;
    });
  }

  /**
   * Runs a finished task again, as a new task with the same payload and options that records its source. Throws
   * InvalidPayloadError if its handler's schema refuses the payload.
   */
  async rerun(id: string, settings: RerunSettings = {}): Promise<RerunAnswer> {
    const { payload, delay, by, reason } = known(settings, RERUN);
    const stored = payload === undefined ? undefined : storedPayload('the task', payload);
    const options = { ...reviveOptions({ payload: stored, delay }), by, reason };
    return this.#withDatabase(async (db) => {
      await this.#checkNew(db, checkedTaskId(id), payload);
      return (await rerun(db, [id], options))[0]!;
    });
  }

  /**
   * Counts tasks by queue, status and type, and those that ended within the period `since` (default 24 h, as text or in
   * milliseconds) up to now.
   */
  async stats(options: { readonly since?: string | number } = {}): Promise<Figures> {
    const { since = '24h' } = known(options, { since: true });
    const sinceMs = toDurationMs(since, 'since');
    return this.#withDatabase(async (db) => figuresOf(await stats(db, sinceMs)));
  }

  /**
   * Lists what happened to the tasks of each queue and type, by minute or by day, the latest first. Workers update it
   * every 15 seconds.
   */
  async metrics(options: MetricsOptions = {}): Promise<MetricsRecord[]> {
    const filter = metricsFilter(options);
    return this.#withDatabase(async (db) => (await listMetrics(db, filter)).map(metricsRecordOf));
  }

  /**
   * Pauses a queue: its running tasks continue, what workers have claimed ahead is given back, new tasks can be
   * enqueued. Pausing a paused queue replaces its pause. A queue without tasks can be paused, too.
   */
  async pauseQueue(queue: string, settings: PauseSettings = {}): Promise<void> {
    const { for: time, reason, by } = known(settings, { ...ACTING, for: true });
    const name = checkedName('queue', queue);
    const forMs = time === undefined ? null : toDurationMs(time, 'for');
    if (forMs === 0) throw badOption('for: expected more than 0');
    await this.#withDatabase((db) => pauseQueue(db, name, { forMs, reason: reason ?? null, by }));
  }

  /** Resumes a paused queue. Returns false if it was not paused. */
  async resumeQueue(queue: string, acting: ActingSettings = {}): Promise<boolean> {
    known(acting, ACTING);
    const name = checkedName('queue', queue);
    return this.#withDatabase((db) => resumeQueue(db, name, acting));
  }

  /**
   * Sets what applies to the tasks of a queue where they and their type set nothing, overriding the configuration of
   * workers; the other settings stay. `null` removes one. Throws TaskqError for an invalid setting.
   */
  async setQueue(queue: string, settings: QueueChanges, acting: ActingSettings = {}): Promise<void> {
    known(acting, ACTING);
    const name = checkedName('queue', queue);
    const changes = queueChangesOf(name, settings);
    await this.#withDatabase((db) => setQueue(db, name, changes, acting));
  }

  /**
   * Sets what applies to the tasks of a type where they set nothing, overriding its handler and the configuration of
   * workers; the other settings stay. `null` removes one. An unknown type becomes known. Throws TaskqError for an
   * invalid setting.
   */
  async setType(type: string, settings: TypeChanges, acting: ActingSettings = {}): Promise<void> {
    known(acting, ACTING);
    const name = checkedName('type', type);
    const changes = typeChangesOf(name, settings);
    await this.#withDatabase((db) => setType(db, name, changes, acting));
  }

  /**
   * Iterates over the groups of a queue that have a live task, a setting of their own or a pause, in order; with
   * `{ stopped: true }` only over those that are paused, held at a dead letter, or put off by one of their tasks.
   */
  listGroups(queue: string, filter: GroupFilter = {}): AsyncIterable<GroupRecord> {
    return groupRecords((work) => this.#withDatabase(work), queue, filter);
  }

  /**
   * Returns a group: its settings and where they come from, what stops it, the tasks that have its slots, and those that
   * get the next ones. A group needs no task to be shown.
   */
  async showGroup(queue: string, group: string): Promise<GroupDetails> {
    const [inQueue, name] = [checkedName('queue', queue), checkedName('group', group)];
    return this.#withDatabase(async (db) => groupDetailsOf(await showGroup(db, inQueue, name)));
  }

  /** Sets the limit and the rate of a group, overriding its queue; `null` removes one. A group needs no task to be set. */
  async setGroup(
    queue: string,
    group: string,
    settings: GroupChanges,
    acting: ActingSettings = {},
  ): Promise<void> {
    known(acting, ACTING);
    const [inQueue, name] = [checkedName('queue', queue), checkedName('group', group)];
    const changes = groupChangesOf(name, settings);
    await this.#withDatabase((db) => setGroup(db, inQueue, name, changes, acting));
  }

  /** Pauses a group: its running tasks continue. Pausing a paused group replaces who paused it and why. */
  async pauseGroup(queue: string, group: string, settings: GroupPauseSettings = {}): Promise<void> {
    const { reason, by } = known(settings, ACTING);
    const [inQueue, name] = [checkedName('queue', queue), checkedName('group', group)];
    await this.#withDatabase((db) => pauseGroup(db, inQueue, name, { reason: reason ?? null, by }));
  }

  /** Resumes a paused group. Returns false if it was not paused. */
  async resumeGroup(queue: string, group: string, acting: ActingSettings = {}): Promise<boolean> {
    known(acting, ACTING);
    const [inQueue, name] = [checkedName('queue', queue), checkedName('group', group)];
    return this.#withDatabase((db) => resumeGroup(db, inQueue, name, acting));
  }

  /** Closes the open breaker of a type: its tasks are claimed again. Returns false if it was not open. */
  async resumeType(type: string, acting: ActingSettings = {}): Promise<boolean> {
    known(acting, ACTING);
    const name = checkedName('type', type);
    return this.#withDatabase((db) => resumeType(db, name, acting));
  }

  /** Returns the pauses of queues, by name; empty if none is paused. */
  async pauses(): Promise<readonly QueuePause[]> {
    return this.#withDatabase(async (db) =>
      (await listQueues(db, { countMs: 0 })).flatMap((queue) => pauseOf(queue) ?? []),
    );
  }

  /**
   * Brings the schema `taskq` up to this version of the package, as `taskq migrate` does: in one transaction, over a
   * connection of its own to `directUrl`, or else `databaseUrl`. Any number of processes may call it at once. Returns
   * the names of the steps it made; empty if the schema was up to date. Throws TaskqError: `schema_newer`,
   * `schema_differs`, `schema_in_use` after `patience`, `schema_occupied`, `schema_untrusted`, `may_not_migrate`,
   * `database_unsuitable`, `pooled_connection`, or `no_database` for a queue that was given only a pool.
   */
  async migrate(settings: MigrateSettings = {}): Promise<readonly string[]> {
    const { patience = '1m' } = known(settings, { with: true, patience: true, onBlocked: true });
    const patienceMs = toDurationMs(patience, 'patience');
    if (this.#closed.signal.aborted) throw closed();
    const { migrateFor } = await import('./migrate-for.ts');
    return this.#refusing('', () => migrateFor(this.#options, patienceMs, settings));
  }

  /**
   * Returns the groups of dead letters that one bug has made, the largest first, at most `limit`. `list({ fingerprint })`
   * has the letters of a group.
   */
  async deadGroups(options: { readonly limit?: number } = {}): Promise<DeadGroupRecord[]> {
    const { limit = 100 } = known(options, { limit: true });
    if (!Number.isInteger(limit) || limit < 1)
      throw badOption(`limit ${String(limit)}: expected a whole number from 1 on`);
    return this.#withDatabase(async (db) => (await listDeadGroups(db, { limit })).map(deadGroupOf));
  }

  /** Iterates over what people did, newest first. */
  audit(filter: AuditFilter = {}): AsyncIterable<AuditRecord> {
    return auditRecords((work) => this.#withDatabase(work), filter);
  }

  /**
   * Iterates over the keys held for a period or forever, by queue and key. To find the task that holds a key, use
   * `get({ queue, key })`.
   */
  listKeys(filter: KeyFilter = {}): AsyncIterable<KeyRecord> {
    return keyRecords((work) => this.#withDatabase(work), filter);
  }

  /**
   * Frees a key that is held for a period or forever, so that a task can be enqueued with it again. Returns `released`;
   * `live` if a live task has the key (the period ends now, and the key is free when that task has ended); or
   * `not_held` if it was free.
   */
  async releaseKey(
    of: { readonly queue?: string; readonly key: string },
    acting: ActingSettings = {},
  ): Promise<KeyRelease> {
    const { queue = 'default', key } = known(of, { queue: true, key: true });
    known(acting, ACTING);
    const held = { queue: checkedName('queue', queue), key: checkedName('key', key) };
    return this.#withDatabase((db) => releaseKey(db, held, acting));
  }

  /**
   * Waits until a task has ended and returns how. Throws WaitDeadlineError after `timeout` (the task continues),
   * NoSuchTaskError if nothing is known of the task (such as one with retention `none` that has already ended, unless
   * it was enqueued with `notifyDone`), or the signal's reason.
   */
  async wait<Type extends TypeOf<Handlers> = TypeOf<Handlers>>(
    id: string,
    options: WaitOptions = {},
  ): Promise<TaskEndOf<Handlers, Type>> {
    const { timeout, signal } = known(options, WAIT);
    const limits = { signal, ...(timeout !== undefined && { timeoutMs: toDurationMs(timeout, 'timeout') }) };
    checkedTaskId(id);
    const waited = await this.#refusing('', async () => (await this.#open()).waiter.wait(id, limits));
    if (waited.kind === 'deadline') throw new WaitDeadlineError(id);
    if (waited.kind === 'gone') throw new NoSuchTaskError(id);
    return endOf(waited.end) as TaskEndOf<Handlers, Type>;
  }

  /**
   * Iterates over the ends of tasks of queues whose `recordEvents` is set, without an end of its own: each at least once,
   * if the next iteration begins after the `position` of the last event that was processed. Survives a lost connection;
   * ends when the signal is aborted or the queue is closed. Throws TaskqError: `events_lost` where events after the
   * position may be missing, `refused` for text that is no position.
   */
  events(options: EventOptions = {}): AsyncIterable<TaskEvent> {
    return this.#events(checkedEventOptions(options));
  }

  async *#events(options: CheckedEventOptions): AsyncGenerator<TaskEvent, void, undefined> {
    try {
      yield* taskEvents(await this.#open(), options, this.#closed.signal);
    } catch (error) {
      throw troubleOf(error, '', this.#databaseUrl);
    }
  }

  /** Closes what this queue has opened, rejects pending waits and ends `events`. The application's pool stays open. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#closed.abort();
    const connection = await this.#connection?.catch(() => undefined);
    await connection?.close(closed());
  }

  #open(): Promise<Connection> {
    if (this.#closed.signal.aborted) return Promise.reject(closed());
    // Imported lazily: a handler that imports this package needs no database code.
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

  #withDatabase<T>(work: (db: Queryable) => Promise<T>, client?: PgClient): Promise<T> {
    if (client !== undefined) return this.#refusing('', () => work(queryableOf(client)), 'the caller');
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

  /** Checks a payload for an existing task (default: the task's own). Throws InvalidPayloadError. */
  async #checkNew(db: Queryable, id: string, payload: unknown): Promise<void> {
    const task = await showTask(db, id);
    if (task === undefined) return;
    const value = payload === undefined ? task.payload : storedPayload('the task', payload).value;
    await refuseMisfit(task.type, this.#schemaOf(task.type), value);
  }

  /** Returns why the schema of a type's handler refuses a payload; null if it does not. */
  async #problemOf(type: string, payload: unknown): Promise<string | null> {
    const checked = await checkPayload(this.#schemaOf(type), payload);
    return 'problem' in checked ? checked.problem : null;
  }

  #taskOf(
    { type, payload, ...options }: EnqueueOptions & { readonly type: string; readonly payload?: unknown },
    notifyDone?: true,
  ): NewTask | Promise<NewTask> {
    checkedName('type', type);
    // Check the stored form, as before a run: for a Date, its text.
    const stored = storedPayload(type, payload);
    const normalised = normaliseEnqueueOptions(options);
    return newTask(
      type,
      stored,
      notifyDone ? { ...normalised, notify_done: true } : normalised,
      this.#schemaOf(type),
    );
  }

  #schemaOf(type: string): StandardSchema | undefined {
    const handler = Object.hasOwn(this.#handlers, type) ? this.#handlers[type] : undefined;
    return handler !== undefined && 'schema' in handler ? (handler.schema as StandardSchema) : undefined;
  }
}

function holderOf(
  db: Queryable,
  of: { readonly queue?: string; readonly key: string },
): Promise<string | undefined> {
  const { queue = 'default', key } = known(of, { queue: true, key: true });
  return findByKey(db, checkedName('queue', queue), checkedName('key', key));
}

function closed(): TaskqError {
  return new TaskqError('closed', 'the queue is closed');
}
