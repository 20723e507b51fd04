import { NOT_STORED, type Outcome } from '../domain/outcome.ts';
import { storableError } from '../domain/storable-error.ts';
import type { ClaimedTask } from '../domain/task.ts';
import { isServerError, isUnanswered, type Queryable } from '../lib/database.ts';
import { SerialQueue } from '../lib/serial-queue.ts';
import { describeDatabaseError } from '../lib/server-trouble.ts';
import { messageOf } from '../lib/thrown.ts';
import { Wakeup } from '../lib/wakeup.ts';
import { getParents } from '../queue/inspect/get-parents.ts';
import { Advancer } from '../queue/protocol/advancer.ts';
import type { UpcomingSchedule } from '../queue/protocol/fire-schedule.ts';
import { mayRun, type Orders } from '../queue/protocol/orders.ts';
import type { SettleAnswer } from '../queue/protocol/settle.ts';
import { notGranted } from '../queue/schema/not-granted.ts';
import type { Attempt } from './attempt/attempt.ts';
import type { ContextHost } from './attempt/context.ts';
import type { HandlerOutput } from './attempt/handler-output.ts';
import { HandlerTransactions } from './attempt/handler-transactions.ts';
import type { Transactions } from './attempt/transact.ts';
import { ClaimContext } from './claim/claim-context.ts';
import { ClaimCursor } from './claim/claim-cursor.ts';
import { MOST_AHEAD, MOST_SLOTS } from './claim/claim-room.ts';
import type { ClaimingWorker } from './claim/claiming-worker.ts';
import { PromisedClaim } from './claim/promised-claim.ts';
import { Sweeper } from './claim/sweeper.ts';
import { Executor, type ExecutorHost } from './execute/executor.ts';
import { markRunning } from './execute/mark-running.ts';
import { OwnFailures } from './execute/own-failures.ts';
import type { Handlers } from './handlers/load-handlers.ts';
import { HeartbeatState } from './heartbeat/heartbeat-state.ts';
import type { EndedTask, HeldTask, StartedTask } from './lease/held-task.ts';
import { LeaseLength } from './lease/lease-length.ts';
import { type HeldLease, LeaseTable, processClock } from './lease/lease-table.ts';
import { Ledger } from './lease/ledger.ts';
import type { FirstRegistered, Pipeline } from './lease/registered-worker.ts';
import type { EventLog } from './log/events.ts';
import { RefusedTasks } from './log/refused-tasks.ts';
import type { RescuingWorker } from './maintain/rescuer.ts';
import { Scheduler } from './schedule/scheduler.ts';
import { describeRefusal } from './settle/classify-refusal.ts';
import { EndLog } from './settle/end-log.ts';
import { Reporter } from './settle/reporter.ts';
import { Shutdown } from './shutdown.ts';
import type { WorkerEnd, WorkerOptions } from './worker-options.ts';

/** How a worker reaches the database. */
export interface WorkerConnections {
  readonly db: Queryable;
  readonly pipeline: Pipeline;
  /** For statements that may be slow or fail without meaning that the connection is lost. */
  readonly beside: Queryable;
}

/** The state that a worker's loops share: the tasks it holds between claim and answer, and how it ends. */
export class WorkerState implements ClaimingWorker, ExecutorHost, RescuingWorker {
  readonly options: WorkerOptions;
  readonly events: EventLog;
  readonly db: Queryable;
  readonly pipeline: Pipeline;
  readonly workerId: number;
  readonly uniquePart: string;
  /** The handlers in use, by type. */
  handlers: Handlers;
  /** The types it claims: those with a handler whose outcomes the database takes. */
  types: readonly string[];
  readonly cursor = new ClaimCursor();
  readonly claimContext: ClaimContext;
  readonly ownFailures = new OwnFailures();
  readonly sweeper: Sweeper;
  readonly promised = new PromisedClaim();
  readonly table = new LeaseTable(MOST_SLOTS + 4 * MOST_AHEAD);
  /** The tasks it holds. */
  readonly ledger = new Ledger(this.table);
  readonly executor: Executor;
  /** The transactions of handlers that run in this process. */
  readonly transactions: HandlerTransactions;
  readonly reporter: Reporter;
  readonly ends: EndLog;
  readonly refused: RefusedTasks;
  readonly heartbeat: HeartbeatState;
  /** How long it leases the tasks it claims. */
  readonly lease: LeaseLength;
  readonly shutdown: Shutdown;
  readonly scheduler: Scheduler;
  readonly advancer: Advancer;
  /** Triggered when there may be room for more tasks. */
  readonly slotFreed = new Wakeup();
  /** Triggered when there may be tasks to claim. */
  readonly workArrived = new Wakeup();
  /** Triggered when the schema may have changed. */
  readonly schemaChanged = new Wakeup();
  /** What operators currently want of this worker. */
  orders: Orders;
  /** Handlers whose settings are not all stored yet, because others have their types locked; see `storeTypes`. */
  unstored: Handlers | undefined;
  /** A heartbeat has found no row of this worker; see `registerAgain`. */
  isForgotten = false;
  /** Tasks that `untilIdle` left, counted by reason. */
  left: Readonly<Record<string, number>> = {};
  readonly #beside: Queryable;
  /** The outcomes on their way that a claim could follow, of tasks with a group. */
  readonly #followed = new WeakSet<EndedTask>();

  /** A statement failed. A refusal may mean that the schema no longer fits. */
  readonly onStatementFailed = (error: unknown): void => {
    this.logFailedStatement(error);
    if (isServerError(error)) this.schemaChanged.trigger();
  };

  constructor(connections: WorkerConnections, registered: FirstRegistered, options: WorkerOptions) {
    const { db, pipeline, beside } = connections;
    const { workerId, installation, uniquePart } = registered;
    const { connection, tasks, times } = options;
    const { handlers } = tasks;
    const { events } = options.process;
    const { slotFreed } = this;
    this.options = options;
    this.events = events;
    this.db = db;
    this.pipeline = pipeline;
    this.#beside = beside;
    this.workerId = workerId;
    this.uniquePart = uniquePart;
    this.handlers = handlers;
    this.types = [...handlers.keys()];
    this.orders = ordersAtFirst(options);
    this.lease = new LeaseLength(times.leaseMs, times.heartbeatMs);
    this.heartbeat = new HeartbeatState({ leaseMs: () => this.lease.ms, events, slotFreed });
    this.shutdown = new Shutdown(options.end.stop, events);
    this.ends = new EndLog(events);
    this.refused = new RefusedTasks(events);
    const serial = new SerialQueue();
    this.claimContext = new ClaimContext({
      worker: this,
      beside,
      serial,
      onFound: () => this.workArrived.trigger(),
    });
    this.sweeper = new Sweeper({
      db: beside,
      serial,
      cursor: this.cursor,
      types: () => this.types,
      onMissed: () => this.workArrived.trigger(),
      onStatementFailed: this.onStatementFailed,
    });
    this.reporter = new Reporter(this, this.ledger, {
      outcomes: {
        promised: this.promised,
        onSettled: (held, answer) => this.#onSettled(held, answer),
        onNotStored: ({ task }, error) =>
          this.#logUnstored('outcome.not_stored', task, describeRefusal(error)),
        onRefused: ({ task }, error) => this.#logUnstored('outcome.refused', task, describeRefusal(error)),
      },
      notes: {
        keepsLogOf: (type) => this.claimContext.keepsLogOf(type),
        onNoteRefused: ({ task }, refusal) => this.#logUnstored('note.refused', task, refusal),
      },
      onGivenBack: (held, answer) => {
        this.ends.givenBack(held, answer);
        // The task keeps its place in the queue, which our cursor has passed.
        this.wake(held.task.queue, held.task.availableAtUs);
      },
      onStatementFailed: this.onStatementFailed,
      onSent: () => {
        this.#leaveOutRefused();
        slotFreed.trigger();
      },
      onSending: (outcomes, isFollowed) => this.#onSending(outcomes, isFollowed),
    });
    this.scheduler = new Scheduler({
      ...{ db, events },
      onFired: () => this.workArrived.trigger(),
      onStatementFailed: this.onStatementFailed,
    });
    this.advancer = new Advancer({
      // Where a long batch does not mean that the worker's connection is lost.
      db: beside,
      onEnded: ({ id, because, ...operation }) =>
        events.event('operation.ended', { operation_id: id, ...operation, reason: because }),
      onError: this.onStatementFailed,
    });
    const { databaseUrl, synchronousCommit } = connection;
    this.transactions = new HandlerTransactions({ databaseUrl, synchronousCommit, workerId, installation });
    const { graceMs, killAfterMs } = times;
    this.executor = new Executor(this.ledger, { handlers, graceMs, killAfterMs, events }, this, slotFreed);
  }

  /** The queues it serves; null: every queue. */
  get queues(): readonly string[] | null {
    return this.orders.queues;
  }

  get rescueMs(): number {
    return this.options.times.rescueMs;
  }

  /** How many tasks may run at a time. */
  get concurrency(): number {
    return Math.min(this.orders.concurrency, MOST_SLOTS);
  }

  timeoutOf(task: ClaimedTask): number | null {
    return this.claimContext.timeoutOf(task);
  }

  markRunning(held: StartedTask): Promise<boolean> {
    return markRunning(this, held, {
      onRefused: (refusal) => this.onRefusedRenewal(held, refusal),
      onStatementFailed: this.onStatementFailed,
    });
  }

  contextHostOf(held: StartedTask): ContextHost {
    return {
      output: this.#outputOf(held),
      parents: (query) => getParents(this.#beside, held.task.id, query),
      transactions: this.#transactionsOf(held),
    };
  }

  #transactionsOf(held: StartedTask): Transactions {
    return {
      workerId: this.workerId,
      installation: this.transactions.installation,
      begin: (setting, value) => this.transactions.begin(setting, value),
      call: (call) => this.transactions.call(call),
      check: (name, signal) => this.transactions.check(name, signal),
      // The commit removes the task, so its notes must be stored first. A failure here must not keep it from
      // completing.
      beforeCommit: async (outcome) => {
        await this.reporter.notes.recordLast([held], { outcome }).catch(this.onStatementFailed);
      },
    };
  }

  #outputOf(held: StartedTask): HandlerOutput {
    const { notes } = this.reporter;
    const { events } = this;
    return {
      write: (level, message, line) => {
        events.write(level, message, line);
        if (level === 'debug' && !events.isDebugEnabled) return;
        // In a child process, an earlier task may still write.
        const isOfAttempt = line.task_id === held.id && line.attempt === held.attempt.task.attempts + 1;
        if (isOfAttempt) notes.log(held, level, message, line.fields);
      },
      progress: (progress) => notes.progress(held, progress),
      warn: (error) => notes.warn(held, error),
    };
  }

  serves(task: ClaimedTask): boolean {
    return this.types.includes(task.type) && mayRun(this.orders, task);
  }

  onReport(held?: StartedTask): void {
    if (held !== undefined) {
      this.reporter.notes.ended(held);
      this.#countFailure(held);
      if (this.#stopsItsGroup(held)) this.#stopGroup(held);
    }
    this.reporter.wake();
  }

  onLost(held: HeldTask): void {
    this.executor.answered(held);
    this.ends.lost(held);
  }

  onRecorded(held: StartedTask & EndedTask, ended: Outcome): void {
    this.#onSettled(held, { answer: 'recorded', consequence: null });
    this.ends.endedAfter(held, ended);
  }

  /** Look everywhere again: what happened during an outage is unknown. */
  refresh(): void {
    this.cursor.reset();
    this.reporter.retry();
    this.workArrived.trigger();
    this.slotFreed.trigger();
  }

  /** Use these handlers for all further starts; running attempts keep theirs. */
  exchange(handlers: Handlers): void {
    this.handlers = handlers;
    this.executor.exchange(handlers);
    this.#serveTypes();
  }

  #leaveOutRefused(): void {
    const refused = this.reporter.refusedTypes;
    if (refused.size === 0 && this.types.length === this.handlers.size) return;
    if ([...this.handlers.keys()].some((type) => this.types.includes(type) === refused.has(type)))
      this.#serveTypes();
  }

  /** Serve the types it has handlers for, except those whose outcomes the database refuses. */
  #serveTypes(): void {
    const refused = this.reporter.refusedTypes;
    this.types = [...this.handlers.keys()].filter((type) => !refused.has(type));
    this.releaseUnserved();
    this.refresh();
  }

  /** A task waits in this queue, due at `fromUs`. */
  wake(queue: string, fromUs: number): void {
    this.cursor.rewind(queue, fromUs);
    this.claimContext.add(queue);
    this.workArrived.trigger();
  }

  onUpcoming(upcoming: readonly UpcomingSchedule[]): void {
    this.scheduler.learn(upcoming, processClock());
  }

  /** The database refuses to renew the lease of a held task, which runs on under the lease that it has. */
  onRefusedRenewal(lease: HeldLease, refusal: string): void {
    const task = this.ledger.find(lease)?.task;
    if (task === undefined) return;
    this.refused.log({ task_id: task.id, type: task.type, queue: task.queue, error: refusal });
  }

  /** Log what the server refused; the connection logs lost answers itself. */
  logFailedStatement(error: unknown): void {
    const { databaseUrl } = this.options.connection;
    if (!isUnanswered(error))
      this.events.event('statement.failed', {
        error: { message: describeDatabaseError(notGranted(error, databaseUrl) ?? error, databaseUrl) },
      });
  }

  /** Retire after an uncaught error: its attempt fails with it, and the state of this process is unknown. */
  onUncaughtError(attempt: Attempt | undefined, thrown: unknown): void {
    const task = attempt?.task;
    this.shutdown.retire(`uncaught error: ${messageOf(thrown)}`, {
      ...(task && { task_id: task.id, type: task.type }),
      error: storableError(thrown),
    });
  }

  /** Give back waiting tasks that may not run here now, including those that a claim in flight brings. */
  releaseUnserved(): void {
    this.ledger.outdateClaims();
    this.executor.releaseUnserved();
  }

  logProgress(): void {
    const recent = this.ends.counts.takeRecent();
    if (recent !== undefined)
      this.events.event('worker.progress', { ...recent, running: this.ledger.running });
  }

  end(): WorkerEnd {
    const { completed, failed, died } = this.ends.counts.total;
    return { exitCode: this.shutdown.exitCode, completed, failed: failed + died, left: this.left };
  }

  /** Start no more tasks of a type that has failed here as often as its breaker allows: the next claim opens it. */
  #countFailure(held: StartedTask): void {
    const { type } = held.task;
    const breaker = held.outcome?.kind === 'failed' ? this.claimContext.breakerOf(type) : undefined;
    if (breaker !== undefined && this.ownFailures.failed(type, breaker, performance.now()))
      this.executor.stop(held, { type });
  }

  /** Whether its group stops with this outcome, or with what the database made of it. */
  #stopsItsGroup({ outcome, task }: HeldTask, status?: string): boolean {
    if (outcome?.kind === 'snoozed' && outcome.hold === 'group') return true;
    return (outcome?.kind === 'dead' || status === 'dead') && this.claimContext.stopsAtDead(task.queue);
  }

  /** Start no more tasks of the group of this task, which stops. */
  #stopGroup(held: HeldTask): void {
    const { queue, groupKey } = held.task;
    if (groupKey !== null) this.executor.stop(held, { queue, groupKey });
  }

  /** The next task of a group can be claimed behind the outcome of the one before. */
  #onSending(outcomes: readonly EndedTask[], isFollowed: boolean): void {
    for (const held of outcomes) {
      if (held.task.groupKey === null) continue;
      if (isFollowed) {
        this.#followed.add(held);
        this.workArrived.trigger();
      } else this.#followed.delete(held);
    }
  }

  #onSettled(held: EndedTask, answer: SettleAnswer): void {
    const { consequence } = answer;
    this.ends.settled(held, answer);
    // It may have failed for the last time.
    if (this.#stopsItsGroup(held, consequence?.status)) this.#stopGroup(held);
    this.executor.answered(held);
    if (consequence?.reason === NOT_STORED && held.outcome.kind !== 'dead')
      this.#logUnstored('outcome.not_stored', held.task, 'the back-off of the task cannot be evaluated');
    const { outcome, task } = held;
    const hasFollowUps = outcome.kind === 'completed' && outcome.followUps !== undefined;
    // The next task of a group, or the next step of a workflow.
    const isAwaited = (task.groupKey !== null && !this.#followed.has(held)) || task.workflow !== null;
    // A retry may be due before the next poll.
    if (consequence?.status === 'pending' || hasFollowUps || isAwaited || this.options.end.untilIdle)
      this.workArrived.trigger();
  }

  #logUnstored(
    event: 'outcome.not_stored' | 'outcome.refused' | 'note.refused',
    { id, type }: HeldTask['task'],
    why: string,
  ): void {
    this.events.event(event, { task_id: id, type, error: { message: why } });
  }
}

function ordersAtFirst({ claims, times }: WorkerOptions): Orders {
  const { paused, concurrency, batch, queues } = claims;
  const { pollMs, leaseMs } = times;
  return {
    ...{ paused, pausedBy: null, stop: false, stopBy: null },
    ...{ concurrency, pollMs, leaseMs, batch, queues, pausedQueues: [], openBreakers: [], followed: [] },
  };
}
