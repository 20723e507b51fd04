import { type Outcome, outcomeOf } from '../domain/outcome.ts';
import type { ClaimedTask, Lease } from '../domain/task.ts';
import { after } from '../lib/after.ts';
import type { Bell } from '../lib/bell.ts';
import type { Settlement } from '../queue/settle.ts';
import { Attempt, type HeldTask } from './attempt.ts';
import { Context } from './context.ts';
import type { EventLog } from './events.ts';
import type { AbortReason } from './handler.ts';
import { HandlerProcesses, type LoadedHandler } from './handler-processes.ts';
import { type LeaseTable, wallClock } from './lease-table.ts';
import type { Handler } from './load-handler.ts';
import type { Handlers } from './load-handlers.ts';
import { runInline } from './run-inline.ts';
import { isGrave, isSuspect, mayStart } from './suspects.ts';

export interface DeskOptions {
  readonly handlers: Handlers;
  readonly concurrency: () => number;
  readonly graceMs: number;
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
 * So many start before the event loop comes round. Handlers that end at once would keep it until nothing waits any more,
 * and the next claim, which they make room for, would leave only then.
 */
const AT_A_TURN = 100;

/** A claimed-ahead task waits no longer than this for its start. */
const UNSTARTED_MS = 1000;

/**
 * The tasks this worker has claimed: what runs, in at most `concurrency` slots, and what waits for a slot. Where a
 * task is says what state it is in; it leaves the desk when its attempt is concluded.
 */
export class Desk {
  readonly #options: DeskOptions;
  #handlers: Handlers;
  /** What this worker lost may still run when it takes the same task again. */
  readonly #running = new Set<Attempt>();
  readonly #processes: HandlerProcesses;
  /** Most urgent first. */
  #ahead: HeldTask[] = [];
  /** The grave ones here, running or not. */
  readonly #grave = new Set<HeldTask>();
  #abandoned = new Set<Attempt>();
  /** What calls the timeout off, of attempts that have one. */
  readonly #timeouts = new Map<Attempt, () => void>();
  /** What calls off the end of the grace, of attempts that were asked to end. */
  readonly #graces = new Map<Attempt, () => void>();
  #meanRunMs: number | undefined;
  #meanLength = 0;
  #startedAt = 0;
  /** Since the event loop last came round. */
  #startedNow = 0;
  #isClosed = false;

  constructor(options: DeskOptions) {
    this.#options = options;
    this.#handlers = options.handlers;
    this.#processes = new HandlerProcesses(options);
  }

  get running(): number {
    return this.#running.size;
  }

  get waiting(): number {
    return this.#ahead.length;
  }

  /** Attempts whose handlers ignore that they were to end. They keep their slots. */
  get abandoned(): number {
    return this.#abandoned.size;
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
    for (const one of held) if (isGrave(one.task)) this.#grave.add(one);
    this.#meanLength =
      tasks.reduce((sum, { payload }) => sum + payload.length, 0) / Math.max(1, tasks.length);
    this.#ahead = [...this.#ahead, ...held].sort(byUrgency);
    this.#fill();
    return held;
  }

  /** Start what finds a slot: there may be more of them by now. */
  refill(): void {
    this.#fill();
  }

  /** Use other handlers from the next start on. */
  exchange(handlers: Handlers): void {
    this.#handlers = handlers;
    this.#processes.retire();
  }

  /** Remove and return what waits for a slot: all of it, only what has waited too long, or only what fits. */
  takeBack(which: 'all' | 'stale' | ((task: ClaimedTask) => boolean)): HeldTask[] {
    const limit = performance.now() - UNSTARTED_MS;
    const next = this.#abandoned.size === 0 ? this.#nextGrave() : undefined;
    const isStale = (held: HeldTask) => held.claimedAt < limit && held !== next;
    const isBack = (held: HeldTask) =>
      typeof which === 'function' ? which(held.task) : which === 'all' || isStale(held);
    const back = this.#ahead.filter(isBack);
    this.#ahead = this.#ahead.filter((held) => !isBack(held));
    for (const held of back) this.#grave.delete(held);
    return back;
  }

  /** The one that everything else here makes way for, until it can start. */
  #nextGrave(): HeldTask | undefined {
    const isNext = this.#grave.size > 0 && ![...this.#running].some(({ held }) => isGrave(held.task));
    return isNext ? this.#ahead.find(({ task }) => isGrave(task)) : undefined;
  }

  /** Ask everything that runs to end. */
  abortAll(reason: AbortReason): void {
    for (const attempt of this.#running) attempt.abort(reason);
  }

  /** The lease is gone: whatever this worker does with the task changes nothing. */
  lose(lease: Lease): void {
    const attempt = this.#findRunning(lease);
    if (attempt !== undefined) this.#askToEnd(attempt, 'lost');
    const waiting = this.#removeAhead(lease);
    if (waiting !== undefined) this.#options.onDrop(waiting);
  }

  /**
   * Somebody asked to cancel the task: what runs is asked to end, and an inline handler that has not after the grace is
   * abandoned; what waits ends.
   */
  cancel(lease: Lease, reason: string | null): void {
    const attempt = this.#findRunning(lease);
    if (attempt !== undefined) this.#askToEnd(attempt, 'cancelled', reason);
    const waiting = this.#removeAhead(lease);
    if (waiting === undefined) return;
    const { id, leaseNo } = lease;
    const outcome: Outcome = { kind: 'cancelled', reportedBy: 'worker', reason, killed: false };
    this.#options.onOutcome(waiting, { id, leaseNo, outcome, ranMs: null });
  }

  #findRunning(lease: Lease): Attempt | undefined {
    for (const attempt of this.#running) if (isOf(lease, attempt.held)) return attempt;
    return undefined;
  }

  #removeAhead(lease: Lease): HeldTask | undefined {
    const found = this.#ahead.find((held) => isOf(lease, held));
    if (found === undefined) return undefined;
    this.#ahead = this.#ahead.filter((held) => held !== found);
    this.#grave.delete(found);
    return found;
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
    this.#isClosed = true;
  }

  #fill(): void {
    if (this.#isClosed) return;
    for (let next = 0; next < this.#ahead.length && this.freeSlots > 0 && this.#startedNow < AT_A_TURN; ) {
      const held = this.#ahead[next]!;
      if (this.#mayStart(held)) {
        if (next === 0) this.#ahead.shift();
        else this.#ahead.splice(next, 1);
        this.#start(held);
      } else {
        next += 1;
      }
    }
  }

  /** The event loop has come round. */
  #beginTurn(): void {
    this.#startedNow = 0;
    this.#fill();
  }

  #mayStart({ task }: HeldTask): boolean {
    const handler = this.#handlers.get(task.type);
    if (handler === undefined) return false;
    const isGraveHere = this.#grave.size > 0;
    if (!isSuspect(task) && !isGraveHere) return true;
    const canLeave = isLoaded(handler);
    return mayStart(task, { running: this.#running, isGraveHere, canLeave });
  }

  #start(held: HeldTask): void {
    if (this.#startedNow === 0) setImmediate(() => this.#beginTurn());
    this.#startedNow += 1;
    const { table, timeoutOf, events } = this.#options;
    const { task, slot } = held;
    const handler = this.#handlers.get(task.type)!;
    const isApart =
      isLoaded(handler) && (handler.isolation === 'process' || isSuspect(task) || this.#grave.size > 0);
    const attempt = new Attempt(held, { timeoutMs: timeoutOf(task), isApart });
    this.#running.add(attempt);
    this.#startedAt = attempt.startedAt;
    const now = wallClock();
    const deadlineAt = attempt.timeoutMs === null ? 0 : now + attempt.timeoutMs;
    table.start(slot, { at: now, deadlineAt, isApart });
    if (events.tellsDebug)
      events.event('task.started', { task_id: task.id, type: task.type, attempt: task.attempts + 1 });
    this.#watchTimeout(attempt);
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

  #watchTimeout(attempt: Attempt): void {
    const { timeoutMs } = attempt;
    if (timeoutMs === null) return;
    this.#timeouts.set(
      attempt,
      after(timeoutMs, () => this.#askToEnd(attempt, 'timeout')),
    );
  }

  /** An inline handler that has not ended after the grace, for whatever reason it was asked to, is abandoned. */
  #askToEnd(attempt: Attempt, reason: AbortReason, cancelReason: string | null = null): void {
    attempt.abort(reason, cancelReason);
    if (this.#graces.has(attempt)) return;
    this.#graces.set(
      attempt,
      after(this.#options.graceMs, () => this.#abandon(attempt)),
    );
  }

  #abandon(attempt: Attempt): void {
    if (attempt.isApart) return; // its process is being killed
    const { task } = attempt.held;
    this.#abandoned.add(attempt);
    this.#options.events.event('task.abandoned', {
      task_id: task.id,
      type: task.type,
      abandoned: this.abandoned,
    });
    this.#options.room.ring();
  }

  #end(attempt: Attempt, outcome: Outcome): void {
    const { held } = attempt;
    const { id, leaseNo } = held.task;
    if (!this.#running.delete(attempt)) return; // the worker has already dealt with it
    this.#grave.delete(held);
    this.#abandoned.delete(attempt);
    for (const timers of [this.#timeouts, this.#graces]) {
      timers.get(attempt)?.();
      timers.delete(attempt);
    }
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
    this.#fill();
    this.#options.room.ring();
  }
}

function isOf({ id, leaseNo }: Lease, { task }: HeldTask): boolean {
  return task.id === id && task.leaseNo === leaseNo;
}

function isLoaded(handler: Handler): handler is LoadedHandler {
  return handler.path !== null;
}

function byUrgency(a: HeldTask, b: HeldTask): number {
  return a.task.priority - b.task.priority || a.task.availableAtUs - b.task.availableAtUs;
}
