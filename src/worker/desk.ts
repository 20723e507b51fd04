import { type Outcome, outcomeOf } from '../domain/outcome.ts';
import { type ClaimedTask, isSameLease, type Lease } from '../domain/task.ts';
import type { Bell } from '../lib/bell.ts';
import type { Settlement } from '../queue/settle.ts';
import { Attempt, type HeldTask } from './attempt.ts';
import { AttemptTimers } from './attempt-timers.ts';
import { Context } from './context.ts';
import type { EventLog } from './events.ts';
import type { AbortReason } from './handler.ts';
import { HandlerProcesses, isLoaded, type LoadedHandler } from './handler-processes.ts';
import { type LeaseTable, wallClock } from './lease-table.ts';
import type { Handler } from './load-handler.ts';
import type { Handlers } from './load-handlers.ts';
import { Quarantine } from './quarantine.ts';
import { runInline } from './run-inline.ts';
import { RunQueue, type WaitingSelection } from './run-queue.ts';
import { isSuspect } from './suspects.ts';

export interface DeskOptions {
  readonly handlers: Handlers;
  readonly concurrency: () => number;
  readonly graceMs: number;
  /** For handlers in a process that do not say how long after an abort they are killed. */
  readonly killAfterMs: number;
  readonly table: LeaseTable;
  readonly events: EventLog;
  /** Rung when there is room for more. */
  readonly room: Bell;
  /** The longest an attempt of this task may take; null: for ever. */
  readonly timeoutOf: (task: ClaimedTask) => number | null;
  readonly onOutcome: (held: HeldTask, settlement: Settlement) => void;
  /** The task is to be given back. */
  readonly onGiveBack: (held: HeldTask, started: boolean) => void;
  /** Nothing is to be recorded: somebody else has the task. */
  readonly onDrop: (held: HeldTask) => void;
  /** Say `running` of a suspect in the database before it starts. False: it is not ours any more. */
  readonly markRunning: (attempt: Attempt) => Promise<boolean>;
}

/** What a handler comes to that does not end before its process does. */
const INTERRUPTED = outcomeOf({ kind: 'threw', thrown: new Error('the worker ended') });

/**
 * The tasks this worker has claimed: what runs, in at most `concurrency` slots, and what waits for a slot. Where a
 * task is says what state it is in; it leaves the desk when its attempt is concluded.
 */
export class Desk {
  readonly #options: DeskOptions;
  #handlers: Handlers;
  /** What this worker lost may still run when it takes the same task again. */
  readonly #running = new Set<Attempt>();
  readonly #quarantine = new Quarantine(this.#running);
  readonly #runQueue: RunQueue;
  readonly #timers: AttemptTimers;
  readonly #processes: HandlerProcesses;
  #meanRunMs: number | undefined;
  #meanLength = 0;
  #startedAt = 0;

  constructor(options: DeskOptions) {
    this.#options = options;
    this.#handlers = options.handlers;
    this.#processes = new HandlerProcesses(options);
    this.#timers = new AttemptTimers(options);
    this.#runQueue = new RunQueue({
      freeSlots: () => this.freeSlots,
      abandoned: () => this.abandoned,
      handlerOf: (type) => this.#handlers.get(type),
      quarantine: this.#quarantine,
      start: (held) => this.#start(held),
    });
  }

  get running(): number {
    return this.#running.size;
  }

  /** The ids of the tasks that run. */
  runningIds(): string[] {
    return [...this.#running].map(({ held }) => held.task.id);
  }

  get waiting(): number {
    return this.#runQueue.length;
  }

  /** Attempts whose handlers ignore that they were to end. They keep their slots. */
  get abandoned(): number {
    return this.#timers.abandoned;
  }

  get freeSlots(): number {
    return this.#options.concurrency() - this.#running.size;
  }

  /** How long an attempt takes of late, in milliseconds; undefined: none has ended yet. */
  get meanRunMs(): number | undefined {
    return this.#meanRunMs;
  }

  /** How long the payloads of the last claim were, in characters; 0: there was none. */
  get meanLength(): number {
    return this.#meanLength;
  }

  /** For how long no slot has become free, in milliseconds; 0: one is. */
  get busyMs(): number {
    return this.freeSlots > 0 ? 0 : performance.now() - this.#startedAt;
  }

  /** Take in what was claimed, and start what finds a slot. */
  take(tasks: readonly ClaimedTask[]): readonly HeldTask[] {
    const claimedAt = performance.now();
    const held = tasks.map((task) => ({ task, slot: this.#options.table.take(task), claimedAt }));
    this.#meanLength =
      tasks.reduce((sum, { payload }) => sum + payload.length, 0) / Math.max(1, tasks.length);
    this.#runQueue.add(held);
    return held;
  }

  /** Start what finds a slot: there may be more of them by now. */
  refill(): void {
    this.#runQueue.fill();
  }

  /** Use other handlers from the next start on. */
  exchange(handlers: Handlers): void {
    this.#handlers = handlers;
    this.#processes.retire();
  }

  /** Remove and return these of the tasks that wait for a slot. */
  takeBack(which: WaitingSelection): HeldTask[] {
    return this.#runQueue.takeBack(which);
  }

  /** Ask everything that runs to end. */
  abortAll(reason: AbortReason): void {
    for (const attempt of this.#running) attempt.abort(reason);
  }

  /**
   * The lease is gone: whatever this worker does with the task changes nothing. One whose outcome is under way answers
   * for itself.
   */
  lose(lease: Lease): void {
    const attempt = this.#findRunning(lease);
    if (attempt !== undefined) this.#timers.askToEnd(attempt, 'lost');
    const waiting = this.#runQueue.remove(lease);
    if (waiting !== undefined) this.#options.onDrop(waiting);
  }

  /**
   * Somebody asked to cancel the task: what runs is asked to end, and an inline handler that has not after the grace is
   * abandoned; what waits ends.
   */
  cancel(lease: Lease, reason: string | null): void {
    const attempt = this.#findRunning(lease);
    if (attempt !== undefined) this.#timers.askToEnd(attempt, 'cancelled', reason);
    const waiting = this.#runQueue.remove(lease);
    if (waiting === undefined) return;
    const { id, leaseNo } = lease;
    const outcome: Outcome = { kind: 'cancelled', reportedBy: 'worker', reason, killed: false };
    this.#options.onOutcome(waiting, { id, leaseNo, outcome, ranMs: null });
  }

  #findRunning(lease: Lease): Attempt | undefined {
    for (const attempt of this.#running) if (isSameLease(attempt.held.task, lease)) return attempt;
    return undefined;
  }

  /** Conclude all that still runs as if it had been interrupted, for a worker that ends: it is waited for no longer. */
  giveUp(): void {
    for (const attempt of [...this.#running]) {
      attempt.killed = true;
      this.#end(attempt, INTERRUPTED);
    }
    this.#processes.close();
  }

  /** Start nothing any more. */
  close(): void {
    this.#runQueue.close();
  }

  #start(held: HeldTask): void {
    const { table, timeoutOf, events } = this.#options;
    const { task, slot } = held;
    const handler = this.#handlers.get(task.type)!;
    const isApart =
      isLoaded(handler) &&
      (handler.isolation === 'process' || isSuspect(task) || this.#quarantine.isGraveHere);
    const attempt = new Attempt(held, { timeoutMs: timeoutOf(task), isApart });
    this.#running.add(attempt);
    this.#startedAt = attempt.startedAt;
    const now = wallClock();
    const deadlineAt = attempt.timeoutMs === null ? 0 : now + attempt.timeoutMs;
    table.start(slot, { at: now, deadlineAt, isApart });
    if (events.tellsDebug)
      events.event('task.started', { task_id: task.id, type: task.type, attempt: task.attempts + 1 });
    this.#timers.start(attempt);
    const outcome = isSuspect(task) ? this.#runMarked(attempt, handler) : this.#run(attempt, handler);
    void outcome.then((ended) => this.#end(attempt, ended));
  }

  #run(attempt: Attempt, handler: Handler): Promise<Outcome> {
    return attempt.isApart
      ? this.#processes.run(attempt, handler as LoadedHandler)
      : runInline(attempt, handler, new Context(attempt, this.#options.events));
  }

  async #runMarked(attempt: Attempt, handler: Handler): Promise<Outcome> {
    if (!(await this.#options.markRunning(attempt))) attempt.abort('lost');
    return attempt.aborted === undefined ? this.#run(attempt, handler) : INTERRUPTED;
  }

  #end(attempt: Attempt, outcome: Outcome): void {
    const { held } = attempt;
    const { id, leaseNo } = held.task;
    if (!this.#running.delete(attempt)) return; // the worker has already dealt with it
    this.#quarantine.leave(held);
    this.#timers.clear(attempt);
    const ranMs = performance.now() - attempt.startedAt;
    this.#meanRunMs =
      this.#meanRunMs === undefined ? ranMs : this.#meanRunMs + (ranMs - this.#meanRunMs) / 16;
    const conclusion = attempt.conclude(outcome);
    switch (conclusion.kind) {
      case 'settle':
        this.#options.onOutcome(held, { id, leaseNo, outcome: conclusion.outcome, ranMs });
        break;
      case 'give back':
        this.#options.onGiveBack(held, true);
        break;
      case 'drop':
        this.#options.onDrop(held);
        break;
      default:
        conclusion satisfies never;
    }
    this.#runQueue.fill();
    this.#options.room.ring();
  }
}
