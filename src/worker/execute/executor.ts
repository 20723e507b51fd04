import { type Outcome, outcomeOf } from '../../domain/outcome.ts';
import type { ClaimedTask } from '../../domain/task.ts';
import type { Wakeup } from '../../lib/wakeup.ts';
import { refuseMisfit } from '../../queue/protocol/new-task.ts';
import { Attempt, type AttemptIsolation } from '../attempt/attempt.ts';
import { BatchFilling } from '../attempt/batch-filling.ts';
import type { ContextHost } from '../attempt/context.ts';
import type { PayloadCheck } from '../attempt/follow-up-list.ts';
import type { HandlerTransactions } from '../attempt/handler-transactions.ts';
import { functionOf } from '../handlers/db-function.ts';
import type { AbortReason } from '../handlers/handler.ts';
import type { Handler } from '../handlers/load-handler.ts';
import type { Handlers } from '../handlers/load-handlers.ts';
import { HandlerProcesses, isLoaded } from '../isolation/handler-processes.ts';
import type { HeldTask, StartedTask } from '../lease/held-task.ts';
import type { HeldLease } from '../lease/lease-table.ts';
import type { Ledger, Reservation } from '../lease/ledger.ts';
import { isSuspect, mayStart } from '../lease/suspects.ts';
import type { EventLog } from '../log/events.ts';
import { AttemptTimers } from './attempt-timers.ts';
import { HeldBack, type Stopped } from './held-back.ts';
import {
  type AttemptHost,
  type Concluding,
  type ConcludingWorker,
  conclude,
  INTERRUPTED,
  runAttempt,
} from './run-attempt.ts';
import { StartRate } from './start-rate.ts';

export interface ExecutorSettings {
  readonly handlers: Handlers;
  readonly graceMs: number;
  /** For isolated handlers that do not set how long after an abort they are killed. */
  readonly killAfterMs: number;
  readonly events: EventLog;
}

/** The worker of an executor. */
export interface ExecutorHost extends ConcludingWorker {
  /** How many tasks may run at a time. */
  readonly concurrency: number;
  /** The time limit of an attempt of this task, in milliseconds; null: unlimited. */
  timeoutOf(task: ClaimedTask): number | null;
  /** Mark a suspect as running in the database. False: another worker has its lease. */
  markRunning(held: StartedTask): Promise<boolean>;
  /** Where the context of this task's handler passes on what it does. */
  contextHostOf(held: StartedTask): ContextHost;
  /** Whether a task may run here now. */
  serves(task: ClaimedTask): boolean;
  readonly transactions: HandlerTransactions;
}

/**
 * Starts per turn of the event loop. Handlers that end at once would otherwise occupy the event loop until no task
 * waits, and delay the next claim.
 */
const AT_A_TURN = 100;

/** A claimed-ahead task is given back after waiting this long to start. */
const UNSTARTED_MS = 1000;

/** Runs claimed tasks in at most `concurrency` slots: each free slot takes the most urgent task that may start. */
export class Executor {
  readonly #ledger: Ledger;
  readonly #host: ExecutorHost;
  readonly #events: EventLog;
  readonly #slotFreed: Wakeup;
  readonly #timers: AttemptTimers;
  readonly #attempts: AttemptHost;
  readonly #concluding: Concluding;
  #handlers: Handlers;
  /** Starts in this turn of the event loop. */
  #startedNow = 0;
  /** The batch of SQL functions that starts in this turn. Its calls run one after the other, so it takes one slot. */
  readonly #batch = new BatchFilling();
  #meanRunMs: number | undefined;
  #meanLength = 0;
  #startedAt = 0;
  readonly #startRate = new StartRate();
  readonly #heldBack = new HeldBack();

  /** `slotFreed` is triggered when there is room for more. */
  constructor(ledger: Ledger, settings: ExecutorSettings, host: ExecutorHost, slotFreed: Wakeup) {
    const { handlers, graceMs, killAfterMs, events } = settings;
    this.#ledger = ledger;
    this.#host = host;
    this.#events = events;
    this.#slotFreed = slotFreed;
    this.#handlers = handlers;
    this.#timers = new AttemptTimers(graceMs, (held) => this.#abandon(held));
    this.#concluding = { ledger, worker: host };
    this.#attempts = {
      markRunning: (held) => host.markRunning(held),
      processes: new HandlerProcesses(killAfterMs, {
        transactions: host.transactions.settings,
        check: this.#checkPayload,
      }),
      contextHostOf: (held) => host.contextHostOf(held),
      check: this.#checkPayload,
      onEnded: (held, ended) => this.#end(held, ended),
    };
  }

  get concurrency(): number {
    return this.#host.concurrency;
  }

  get freeSlots(): number {
    return this.#host.concurrency - this.#ledger.running + this.#ledger.sharing;
  }

  /** How long a recent attempt has kept a slot on average, in milliseconds; undefined: none has ended yet. */
  get meanRunMs(): number | undefined {
    return this.#meanRunMs;
  }

  /** The mean payload length of the last claim, in characters; 0: there was none. */
  get meanLength(): number {
    return this.#meanLength;
  }

  /** How many waiting tasks will start soon, at the recent rate. */
  get startsSoon(): number {
    return this.#startRate.soon;
  }

  /** How long no slot has become free, in milliseconds; 0: one is free. */
  get busyMs(): number {
    return this.freeSlots > 0 ? 0 : performance.now() - this.#startedAt;
  }

  /** Enter the tasks that a claim brought, and start those that find a slot. */
  take(reservation: Reservation, tasks: readonly ClaimedTask[]): void {
    const now = performance.now();
    this.#startRate.refilled(this.#ledger.waiting, now);
    for (const held of this.#ledger.claimed(reservation, tasks, now)) this.lose(held);
    if (tasks.length > 0)
      this.#meanLength = tasks.reduce((sum, { payload }) => sum + payload.length, 0) / tasks.length;
    if (reservation.isOutdated) this.releaseUnserved();
    else this.#heldBack.known();
    this.fill();
    if (this.#ledger.reporting > 0) this.#host.onReport();
  }

  /** Start waiting tasks in the free slots. */
  fill(): void {
    const ledger = this.#ledger;
    for (let next = 0; this.#startedNow < AT_A_TURN && (this.freeSlots > 0 || this.#batch.isOpen); ) {
      const held = ledger.waitingAt(next);
      if (held === undefined) return;
      const handler = this.#handlers.get(held.task.type);
      const mayRun = handler !== undefined && !this.#isHeldBack(held.task);
      if (mayRun && mayStart(held.task, isLoaded(handler), ledger.suspects)) {
        const expectedMs = this.#expectedInBatch(held.task, handler);
        if (this.freeSlots <= 0 && !(this.#batch.isOpen && expectedMs !== undefined)) return;
        if (this.#startedNow === 0) setImmediate(this.#beginTurn);
        this.#startedNow += 1;
        const sharesSlot = expectedMs !== undefined && this.#batch.add(expectedMs);
        this.#start(held, handler, sharesSlot);
      } else {
        next += 1;
      }
    }
  }

  /**
   * How long an attempt takes that only calls a SQL function, in a batch with others that start in this turn of the
   * event loop; undefined: another attempt.
   */
  #expectedInBatch(task: ClaimedTask, handler: Handler): number | undefined {
    if (!handler.onlyCallsFunction || this.#isolationOf(task, handler) !== 'inline') return undefined;
    const name = functionOf(task.payload);
    return name === undefined ? undefined : this.#host.transactions.expectedMs(name, task.payload);
  }

  /** Use these handlers for all further starts. */
  exchange(handlers: Handlers): void {
    this.#handlers = handlers;
    this.#attempts.processes.retire();
  }

  /** Give back tasks that have waited too long to start. */
  releaseStale(): void {
    const limit = performance.now() - UNSTARTED_MS;
    const next = this.#ledger.abandoned === 0 ? this.#ledger.nextLastChance() : undefined;
    this.#release((held) => held.claimedAt < limit && held !== next);
  }

  /** Give back waiting tasks that may not run here now. */
  releaseUnserved(): void {
    this.#release(({ task }) => !this.#host.serves(task) || this.#heldBack.isOver(task));
  }

  /** The outcome of this task stops a type or group: give back its waiting tasks, and start no more for now. */
  stop(cause: HeldTask, stopped: Stopped): void {
    const now = performance.now();
    this.#heldBack.stop(cause, stopped, now);
    this.#release(({ task }) => this.#heldBack.holds(task, now));
  }

  /** The outcome of this task has been answered: give back what it stops, also what claims in flight bring. */
  answered(held: HeldTask): void {
    if (!this.#heldBack.isCause(held)) return;
    this.#ledger.outdateClaims();
    this.releaseUnserved();
  }

  /** Ask all running attempts to end. */
  abortAll(reason: AbortReason): void {
    for (const { attempt } of this.#ledger.started()) attempt.abort(reason);
  }

  /**
   * The lease is gone, so this worker can no longer change the task. A task whose outcome is in flight waits for its
   * answer.
   */
  lose(lease: HeldLease): void {
    const held = this.#ledger.find(lease);
    // A task that its handler's own transaction has completed is no longer ours either.
    if (held === undefined || (isRunning(held) && held.attempt.isCompleting)) return;
    if (isRunning(held)) this.#timers.askToEnd(held, 'lost');
    else if (this.#ledger.lost(held)) this.#host.onLost(held);
  }

  /**
   * The task was cancelled by request. A running attempt is asked to end, and an inline handler that has not ended
   * after the grace is abandoned; a waiting task ends at once.
   */
  cancel(lease: HeldLease, reason: string | null): void {
    const held = this.#ledger.find(lease);
    if (held === undefined) return;
    if (isRunning(held)) this.#timers.askToEnd(held, 'cancelled', reason);
    else if (this.#ledger.report(held, outcomeOf({ kind: 'cancelled', reason, killed: false }), null))
      this.#host.onReport();
  }

  /** Conclude all running attempts as interrupted: the worker is ending and no longer waits for them. */
  giveUp(): void {
    for (const held of this.#ledger.started()) {
      held.attempt.killed = true;
      this.#end(held, INTERRUPTED);
    }
    this.#attempts.processes.close();
  }

  readonly #checkPayload: PayloadCheck = (type, { value }) => {
    const schema = this.#handlers.get(type)?.schema;
    return schema && refuseMisfit(type, schema, value);
  };

  /** The next turn of the event loop. */
  readonly #beginTurn = (): void => {
    this.#startedNow = 0;
    this.#batch.end();
    this.fill();
  };

  /** Reads the clock only while something is stopped: this is asked for each start. */
  #isHeldBack(task: ClaimedTask): boolean {
    return this.#heldBack.isAny && this.#heldBack.holds(task, performance.now());
  }

  #start(held: HeldTask, handler: Handler, sharesSlot: boolean): void {
    const { task } = held;
    const isolation = this.#isolationOf(task, handler);
    const attempt = new Attempt(task, this.#host.timeoutOf(task), isolation, sharesSlot);
    if (!this.#ledger.start(held, attempt)) return;
    this.#startedAt = attempt.startedAt;
    this.#startRate.started(attempt.startedAt);
    if (this.#events.isDebugEnabled)
      this.#events.event('task.started', { task_id: task.id, type: task.type, attempt: task.attempts + 1 });
    this.#timers.start(held);
    runAttempt(held, handler, this.#attempts);
  }

  #isolationOf(task: ClaimedTask, handler: Handler): AttemptIsolation {
    if (!isLoaded(handler)) return 'inline';
    if (isSuspect(task)) return 'fresh process';
    return handler.isolation === 'process' || this.#ledger.suspects.lastChances > 0 ? 'process' : 'inline';
  }

  #end(held: StartedTask, ended: Outcome): void {
    if (!isRunning(held)) return; // the worker has given it up
    this.#timers.clear(held);
    const ranMs = performance.now() - held.attempt.startedAt;
    this.#keptSlot(held.attempt.sharesSlot ? 0 : ranMs);
    conclude(held, ended, ranMs, this.#concluding);
    this.fill();
    this.#slotFreed.trigger();
  }

  #keptSlot(ms: number): void {
    const mean = this.#meanRunMs;
    this.#meanRunMs = mean === undefined ? ms : mean + (ms - mean) / 16;
  }

  #abandon(held: StartedTask): void {
    if (!this.#ledger.abandon(held)) return;
    const { id, type } = held.task;
    this.#events.event('task.abandoned', { task_id: id, type, abandoned: this.#ledger.abandoned });
    this.#slotFreed.trigger();
  }

  #release(isMeant: (held: HeldTask) => boolean): void {
    if (this.#ledger.releaseWaiting(isMeant) > 0) this.#host.onReport();
  }
}

function isRunning(held: HeldTask): held is StartedTask {
  return held.state === 'running';
}
