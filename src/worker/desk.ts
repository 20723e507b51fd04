import { type Outcome, outcomeOf } from '../domain/outcome.ts';
import { type ClaimedTask, type Lease, leaseKey } from '../domain/task.ts';
import { after } from '../lib/after.ts';
import type { Bell } from '../lib/bell.ts';
import type { Settlement } from '../queue/settle.ts';
import { Attempt, type HeldTask } from './attempt.ts';
import { Context } from './context.ts';
import type { EventLog } from './events.ts';
import type { AbortReason } from './handler.ts';
import { type LeaseTable, wallClock } from './lease-table.ts';
import type { Handler } from './load-handler.ts';
import type { Handlers } from './load-handlers.ts';
import { type LoadedHandler, runInProcess } from './run-in-process.ts';
import { runInline } from './run-inline.ts';

export interface DeskOptions {
  readonly handlers: Handlers;
  readonly concurrency: number;
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
  /** A suspect of two losses: say `running` in the database before it starts. False: it is not ours any more. */
  readonly markRunning: (held: HeldTask) => Promise<boolean>;
}

/** What a handler comes to that does not end before its process does. */
const INTERRUPTED = outcomeOf({ kind: 'threw', thrown: new Error('the worker ended') });

/** A claimed-ahead task waits no longer than this for its start. */
const UNSTARTED_MS = 1000;

/**
 * The tasks this worker has claimed: what runs, in at most `concurrency` slots, and what waits for a slot. Where a
 * task is says what state it is in; it leaves the desk when its attempt is concluded.
 */
export class Desk {
  readonly #options: DeskOptions;
  /** By lease: what this worker lost may still run when it takes the same task again. */
  readonly #running = new Map<string, Attempt>();
  /** Most urgent first. */
  #ahead: HeldTask[] = [];
  #abandoned = new Set<Attempt>();
  #meanRunMs: number | undefined;

  constructor(options: DeskOptions) {
    this.#options = options;
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
    return this.#options.concurrency - this.#running.size;
  }

  /** How long an attempt takes of late, in milliseconds; undefined: none has ended yet. */
  get meanRunMs(): number | undefined {
    return this.#meanRunMs;
  }

  /** Take in what was claimed, and start what finds a slot. */
  take(tasks: readonly ClaimedTask[]): readonly HeldTask[] {
    const claimedAt = performance.now();
    const held = tasks.map((task) => ({ task, slot: this.#options.table.take(task), claimedAt }));
    this.#ahead = [...this.#ahead, ...held].sort(byUrgency);
    this.#fill();
    return held;
  }

  /** Remove and return what waits for a slot: all of it, or only what has waited too long. */
  takeBack(which: 'all' | 'stale'): HeldTask[] {
    const limit = performance.now() - UNSTARTED_MS;
    const isBack = ({ claimedAt }: HeldTask) => which === 'all' || claimedAt < limit;
    const back = this.#ahead.filter(isBack);
    this.#ahead = this.#ahead.filter((held) => !isBack(held));
    return back;
  }

  /** Ask everything that runs to end. */
  abortAll(reason: AbortReason): void {
    for (const attempt of this.#running.values()) attempt.abort(reason);
  }

  /** The lease is gone: whatever this worker does with the task changes nothing. */
  lose(lease: Lease): void {
    const attempt = this.#running.get(leaseKey(lease));
    attempt?.abort('lost');
    const waiting = this.#removeAhead(lease);
    if (waiting !== undefined) this.#options.onDrop(waiting);
  }

  /** Somebody asked to cancel the task: what runs is asked to end, what waits ends. */
  cancel(lease: Lease, reason: string | null): void {
    const attempt = this.#running.get(leaseKey(lease));
    attempt?.abort('cancelled', reason);
    const waiting = this.#removeAhead(lease);
    if (waiting === undefined) return;
    const { id, leaseNo } = lease;
    const outcome: Outcome = { kind: 'cancelled', reportedBy: 'worker', reason };
    this.#options.onOutcome(waiting, { id, leaseNo, outcome, ranMs: null });
  }

  #removeAhead({ id, leaseNo }: Lease): HeldTask | undefined {
    const found = this.#ahead.find(({ task }) => task.id === id && task.leaseNo === leaseNo);
    this.#ahead = this.#ahead.filter((held) => held !== found);
    return found;
  }

  /** Conclude all that still runs as if it had been interrupted, for a worker that ends: it is waited for no longer. */
  giveUp(): void {
    for (const attempt of [...this.#running.values()]) this.#end(attempt, INTERRUPTED);
  }

  #fill(): void {
    const { concurrency } = this.#options;
    for (let next = 0; next < this.#ahead.length && this.#running.size < concurrency; ) {
      const held = this.#ahead[next]!;
      if (this.#mayStart(held.task)) {
        this.#ahead.splice(next, 1);
        this.#start(held);
      } else {
        next += 1;
      }
    }
  }

  /**
   * A task that took a worker with it runs in a process of its own; one that took two is besides the only suspect
   * here, so that a third loss is no other suspect's fault. So is one that has no file to be loaded from elsewhere.
   */
  #mayStart(task: ClaimedTask): boolean {
    if (task.losses === 0) return true;
    const suspects = [...this.#running.values()].filter(({ held }) => held.task.losses > 0);
    return (
      suspects.length === 0 || !(this.#isAlone(task) || suspects.some(({ held }) => this.#isAlone(held.task)))
    );
  }

  #isAlone(task: ClaimedTask): boolean {
    return task.losses >= 2 || this.#handlerOf(task).path === null;
  }

  #start(held: HeldTask): void {
    const { table, timeoutOf, events, markRunning } = this.#options;
    const { task, slot } = held;
    const attempt = new Attempt(held, timeoutOf(task), performance.now());
    this.#running.set(leaseKey(task), attempt);
    const now = wallClock();
    table.start(slot, now, attempt.timeoutMs === null ? 0 : now + attempt.timeoutMs);
    events.event('task.started', { task_id: task.id, type: task.type, attempt: task.attempts + 1 });
    const cancelTimeout = this.#watchTimeout(attempt);
    const outcome = task.losses < 2 ? this.#run(attempt) : this.#runMarked(attempt, markRunning);
    void outcome.then((ended) => {
      cancelTimeout?.();
      this.#end(attempt, ended);
    });
  }

  #run(attempt: Attempt): Promise<Outcome> {
    const { task } = attempt.held;
    const handler = this.#handlerOf(task);
    const ctx = new Context(attempt, this.#options.events);
    const apart = handler.isolation === 'process' || task.losses > 0;
    return apart && isLoaded(handler)
      ? runInProcess(attempt, handler, ctx, this.#options.graceMs)
      : runInline(attempt, handler, ctx);
  }

  async #runMarked(attempt: Attempt, markRunning: DeskOptions['markRunning']): Promise<Outcome> {
    if (await markRunning(attempt.held)) return this.#run(attempt);
    attempt.abort('lost');
    return outcomeOf({ kind: 'returned', value: undefined }); // which then counts for nothing
  }

  /** At the timeout the handler is asked to end; an inline one that has not after the grace is abandoned. */
  #watchTimeout(attempt: Attempt): (() => void) | undefined {
    const { timeoutMs, held } = attempt;
    if (timeoutMs === null) return undefined;
    let callOff = after(timeoutMs, () => {
      attempt.abort('timeout');
      callOff = after(this.#options.graceMs, () => this.#abandon(attempt, held.task));
    });
    return () => callOff();
  }

  #abandon(attempt: Attempt, task: ClaimedTask): void {
    if (attempt.onAbort !== undefined) return; // it runs in a process, which is being killed
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
    if (!this.#running.has(leaseKey(held.task))) return; // the worker has already dealt with it
    this.#running.delete(leaseKey(held.task));
    this.#abandoned.delete(attempt);
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

  #handlerOf(task: ClaimedTask): Handler {
    return this.#options.handlers.get(task.type)!;
  }
}

function isLoaded(handler: Handler): handler is LoadedHandler {
  return handler.path !== null;
}

function byUrgency(a: HeldTask, b: HeldTask): number {
  return a.task.priority - b.task.priority || a.task.availableAtUs - b.task.availableAtUs;
}
