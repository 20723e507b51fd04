import { setTimeout as sleep } from 'node:timers/promises';
import type { ClaimedTask, Lease } from '../domain/task.ts';
import { Bell } from '../lib/bell.ts';
import { isUnanswered, type Queryable } from '../lib/database.ts';
import { countUnfinished } from '../queue/count-unfinished.ts';
import { heartbeat } from '../queue/heartbeat.ts';
import { markIdle } from '../queue/mark-idle.ts';
import type { Orders } from '../queue/orders.ts';
import { type Survey, survey } from '../queue/survey.ts';
import type { Attempt, HeldTask } from './attempt.ts';
import type { ClaimLoopOptions } from './claim-loop.ts';
import { claimRoom, MOST_AHEAD, MOST_SLOTS } from './claim-room.ts';
import { ClaimCursor } from './cursor.ts';
import { Desk } from './desk.ts';
import { LeaseTable } from './lease-table.ts';
import type { Handlers } from './load-handlers.ts';
import { Returner } from './returner.ts';
import { Settler } from './settler.ts';
import { Tally } from './tally.ts';
import { tellOutcome } from './tell-outcome.ts';
import type { WorkerEnd, WorkerOptions } from './worker-options.ts';

/** The queues are looked up at most so often. */
const SURVEY_MS = 1000;

/** A claim may still be under way in the server when its answer is given up. */
const LATE_COMMIT_MS = 2000;

/** What a worker's loops share: the tasks it holds, on their way from claim to answer, and when it is to end. */
export class WorkerState {
  readonly options: WorkerOptions;
  readonly workerId: number;
  /** What it has handlers for, now. */
  types: readonly string[];
  readonly cursor = new ClaimCursor();
  readonly table: LeaseTable;
  readonly desk: Desk;
  readonly settler: Settler;
  readonly returner: Returner;
  readonly tally = new Tally();
  /** Claim no more. */
  readonly stop: AbortSignal;
  /** Nothing of this worker runs any more. */
  readonly ended = new AbortController();
  readonly roomBell = new Bell();
  readonly hintBell = new Bell();
  /** What operators want of it. */
  orders: Orders;
  /** Whether hints arrive. */
  hears = false;
  #isDeafnessTold = false;
  /** When a heartbeat was last answered: without them what is claimed would be lost again. */
  #lastBeatenAt = performance.now();
  /** When the answer of a claim was last lost (`performance.now()`): tasks may be ours that we do not know of. */
  claimLostAt: number | undefined;
  /** What `untilIdle` left. */
  left: Readonly<Record<string, number>> = {};
  readonly #db: Queryable;
  readonly #own = new AbortController();
  /** Everything in the lease table. */
  readonly #held = new Set<HeldTask>();
  #survey: { at: number; types: readonly string[]; found: Survey } | undefined;
  /** A claim under way may bring what is not to run here any more. */
  #checksNextClaim = false;
  #exitCode: 0 | 1 = 0;

  constructor(db: Queryable, workerId: number, options: WorkerOptions) {
    const { handlers, graceMs, events } = options;
    this.#db = db;
    this.options = options;
    this.workerId = workerId;
    this.types = [...handlers.keys()];
    this.orders = ordersAtFirst(options);
    this.table = new LeaseTable(MOST_SLOTS + 4 * MOST_AHEAD);
    this.stop = AbortSignal.any([options.stop, this.#own.signal]);
    this.returner = new Returner(db, (held, started) => {
      events.event('task.given_back', { task_id: held.task.id, type: held.task.type, started });
      this.tally.count('given_back');
      this.#leave(held);
      // It kept its place, which our cursor has passed.
      this.wake(held.task.queue, held.task.availableAtUs);
    });
    this.settler = new Settler(db, {
      onAnswer: (held, settlement, answer) => {
        if (!this.#held.has(held)) return;
        this.tally.count(tellOutcome(events, held.task, settlement, answer));
        this.#leave(held);
        // A retry may be due before the next look.
        if (answer.consequence?.status === 'pending' || options.untilIdle) this.hintBell.ring();
      },
      onNotStored: ({ id }, error) =>
        events.event('outcome.not_stored', { task_id: id, error: messageOf(error) }),
      onTrouble: (error) => this.trouble(error),
    });
    this.desk = new Desk({
      handlers,
      concurrency: () => this.concurrency,
      graceMs,
      events,
      table: this.table,
      room: this.roomBell,
      timeoutOf: (task) => this.#timeoutOf(task),
      onOutcome: (held, settlement) => this.settler.add(held, settlement),
      onGiveBack: (held, started) => this.returner.add(held, started),
      onDrop: (held) => {
        const { id, type, attempts } = held.task;
        events.event('lease.lost', { task_id: id, type, attempt: attempts + 1 });
        this.tally.count('lost');
        this.#leave(held);
      },
      markRunning: (attempt) => this.#markRunning(attempt),
    });
  }

  claimLoopOptions(): ClaimLoopOptions {
    const { leaseMs, untilIdle } = this.options;
    return {
      db: this.#db,
      workerId: this.workerId,
      types: () => this.types,
      leaseMs,
      pollMs: () => this.orders.pollMs,
      cursor: this.cursor,
      room: () => this.#room(),
      roomBell: this.roomBell,
      hintBell: this.hintBell,
      hears: () => this.hears && !untilIdle,
      queuesNow: () => this.#queuesNow(),
      queuesKnown: () => this.#queuesKnown(),
      markIdle: (ms) => this.#markIdle(ms),
      onClaimed: (tasks) => {
        for (const held of this.desk.take(tasks)) this.#held.add(held);
        if (this.#checksNextClaim) this.#giveBackUnserved();
        this.#checksNextClaim = false;
      },
      onTrouble: (error) => {
        this.claimLostAt = performance.now();
        this.trouble(error);
      },
      onIdle: () => this.#isDone(),
      stop: this.stop,
    };
  }

  /** How many tasks it may run at a time. */
  get concurrency(): number {
    return Math.min(this.orders.concurrency, MOST_SLOTS);
  }

  /** The ids of everything between its claim and the answer to its outcome. */
  heldIds(): string[] {
    return [...this.#held].map(({ task }) => task.id);
  }

  /** How many tasks have no answer yet. */
  get holds(): number {
    return this.#held.size;
  }

  /** The connection that listens was tried. Once is told that nothing is heard on it. */
  hearHints(hears: boolean): void {
    this.hears = hears;
    if (hears || this.#isDeafnessTold) return;
    this.#isDeafnessTold = true;
    this.options.events.event('listening.failed');
  }

  /** After an outage it is not known what was missed. */
  lookAnew(): void {
    this.cursor.reset();
    this.hintBell.ring();
    this.roomBell.ring();
  }

  /** The heartbeat thread has renewed what is held. */
  beaten(): void {
    const wasSilent = this.#isSilent;
    this.#lastBeatenAt = performance.now();
    if (wasSilent) this.roomBell.ring();
  }

  /** Without heartbeats nothing new is claimed. */
  get #isSilent(): boolean {
    return performance.now() - this.#lastBeatenAt > (this.options.leaseMs * 2) / 3;
  }

  /** Use other handlers from the next start on; what runs, runs on with its own. */
  exchange(handlers: Handlers): void {
    this.types = [...handlers.keys()];
    this.desk.exchange(handlers);
    this.emptyAhead();
    this.lookAnew();
  }

  /** A task waits in this queue from that time on. */
  wake(queue: string, fromUs: number): void {
    this.cursor.rewind(queue, fromUs);
    const known = this.#survey;
    if (known !== undefined && !known.found.queues.includes(queue)) {
      this.#survey = { ...known, found: { ...known.found, queues: [...known.found.queues, queue] } };
    }
    this.hintBell.ring();
  }

  /** The database says that a lease is not ours any more. One whose outcome is under way answers for itself. */
  lose(lease: Lease): void {
    this.desk.lose(lease);
  }

  /** What a claim took whose answer was lost has run out by now, and is to be looked for. */
  get isLostClaimOver(): boolean {
    return performance.now() - (this.claimLostAt ?? Infinity) > this.options.leaseMs + LATE_COMMIT_MS;
  }

  /** Log what the database refused; that it does not answer is the connection's to tell. */
  trouble(error: unknown): void {
    if (!isUnanswered(error)) this.options.events.event('statement.failed', { error: messageOf(error) });
  }

  /** An error that nobody caught: its attempt fails with it. What this process is worth now nobody knows. */
  stray(attempt: Attempt | undefined, thrown: unknown): void {
    const task = attempt?.held.task;
    this.retire(
      `an error nobody caught: ${messageOf(thrown)}`,
      task && { task_id: task.id, type: task.type },
    );
  }

  /** End in order, with exit code 1: a supervisor starts another. */
  retire(why: string, about: object = {}): void {
    if (!this.#own.signal.aborted) this.options.events.event('worker.retiring', { error: why, ...about });
    this.#exitCode = 1;
    this.#own.abort();
  }

  /** End in order, with exit code 0. */
  finish(): void {
    this.#own.abort();
  }

  /** Give back what waits for a slot and is not to run here any more, be it that its claim is still under way. */
  emptyAhead(): void {
    this.#checksNextClaim = true;
    this.#giveBackUnserved();
  }

  #giveBackUnserved(): void {
    for (const held of this.desk.takeBack((task) => !this.#serves(task))) this.returner.add(held, false);
    void this.returner.flush(0).catch((error: unknown) => this.trouble(error));
  }

  #serves({ queue, type }: ClaimedTask): boolean {
    const { paused, queues, pausedQueues } = this.orders;
    if (!this.types.includes(type)) return false;
    return (
      !paused && (queues?.includes(queue) ?? true) && !pausedQueues.some((other) => other.queue === queue)
    );
  }

  /** Note that something is left to its lease. */
  fail(): void {
    this.#exitCode = 1;
  }

  async giveBackStale(): Promise<void> {
    for (const held of this.desk.takeBack('stale')) this.returner.add(held, false);
    await this.returner.flush(0);
  }

  tellProgress(): void {
    const news = this.tally.takeNews();
    if (news !== undefined)
      this.options.events.event('worker.progress', { ...news, running: this.desk.running });
  }

  end(): WorkerEnd {
    const { completed, failed, died } = this.tally.total;
    return { exitCode: this.#exitCode, completed, failed: failed + died, left: this.left };
  }

  #leave(held: HeldTask): void {
    this.#held.delete(held);
    this.table.leave(held.slot);
    this.roomBell.ring();
  }

  #room(): { start: number; ahead: number } {
    const { desk, settler, options, concurrency } = this;
    const { batch, maxTasks } = options;
    if (desk.abandoned >= concurrency) this.retire('every slot is held by a handler that does not end');
    const wanted = maxTasks === null ? Infinity : maxTasks - this.tally.ended - this.holds;
    if (wanted <= 0 && this.holds <= desk.abandoned) this.#end();
    if (this.stop.aborted || settler.stuck || this.#isSilent) return { start: 0, ahead: 0 };
    return claimRoom({
      concurrency,
      batch,
      freeSlots: desk.freeSlots,
      waiting: desk.waiting,
      meanRunMs: desk.meanRunMs,
      busyMs: desk.busyMs,
      meanLength: desk.meanLength,
      most: Math.max(0, Math.min(wanted, this.table.room - concurrency)),
    });
  }

  async #queuesNow(): Promise<readonly string[]> {
    const now = performance.now();
    let current = this.#survey;
    while (current === undefined || now - current.at > SURVEY_MS || current.types !== this.types) {
      const { types } = this;
      current = { at: now, types, found: await survey(this.#db, types) };
      this.#survey = current;
    }
    return this.orders.queues ?? current.found.queues;
  }

  /** None where nobody has looked since the types changed: with the queues come the timeouts. */
  #queuesKnown(): readonly string[] {
    if (this.#survey?.types !== this.types) return [];
    return this.orders.queues ?? this.#survey.found.queues;
  }

  async #markIdle(ms: number): Promise<{ dueMs: number | null; queues: readonly string[] }> {
    for (;;) {
      const { workerId, types } = this;
      const { queues } = this.orders;
      const at = performance.now();
      const { dueMs, survey: found } = await markIdle(this.#db, { workerId, queues, types }, ms);
      this.#survey = { at, types, found };
      if (types === this.types) return { dueMs, queues: queues ?? found.queues };
    }
  }

  #timeoutOf({ timeoutMs, type, queue }: ClaimedTask): number | null {
    const found = this.#survey?.found;
    return timeoutMs ?? found?.typeTimeouts[type] ?? found?.queueTimeouts[queue] ?? found?.timeoutMs ?? null;
  }

  /** Ask until the database says whether it is ours (false: not any more), or until the attempt is to end. */
  async #markRunning(attempt: Attempt): Promise<boolean> {
    const { workerId } = this;
    const { leaseMs } = this.options;
    const { id, leaseNo } = attempt.held.task;
    const held = [{ id, leaseNo, startedMs: 0 }];
    for (let waitMs = 10; attempt.aborted === undefined; waitMs = Math.min(2 * waitMs, 1000)) {
      try {
        const { answers } = await heartbeat(this.#db, { workerId, leaseMs, held });
        const answer = answers[0]?.answer;
        // Busy: somebody has its row locked; for a moment that may be our own other thread, which marks it, too.
        if (answer !== 'busy') return answer === 'renewed';
      } catch (error) {
        this.trouble(error);
      }
      await sleep(waitMs, undefined, { signal: attempt.signal }).catch(() => {});
    }
    return true;
  }

  /** It has done what it was to do. */
  #end(): void {
    if (this.desk.abandoned > 0) this.retire('its other work is done, and a handler does not end');
    else this.#own.abort();
  }

  /** Asked when nothing is due. Nothing else runs than what does not end: then this worker is done, or is to retire. */
  async #isDone(): Promise<boolean> {
    const { desk, options } = this;
    if (this.holds > desk.abandoned) return false;
    if (desk.abandoned > 0) {
      this.#end();
      return true;
    }
    if (!options.untilIdle) return false;
    const { unfinished, leftForLater } = await countUnfinished(this.#db, this.types, this.orders.queues);
    if (unfinished > 0) return false;
    this.left = leftForLater;
    this.#own.abort();
    return true;
  }
}

function ordersAtFirst({ paused, concurrency, pollMs, queues }: WorkerOptions): Orders {
  return { paused, pausedBy: null, stop: false, stopBy: null, concurrency, pollMs, queues, pausedQueues: [] };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
