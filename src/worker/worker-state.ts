import type { ClaimedTask } from '../domain/task.ts';
import { messageOf } from '../domain/thrown.ts';
import { Bell } from '../lib/bell.ts';
import { isUnanswered, type Queryable } from '../lib/database.ts';
import { Lane } from '../lib/lane.ts';
import { sayTrouble } from '../lib/server-trouble.ts';
import { Spacing } from '../lib/spacing.ts';
import { countUnfinished, type Unfinished } from '../queue/count-unfinished.ts';
import { type Orders, runsQueue } from '../queue/orders.ts';
import type { Settlement } from '../queue/settle.ts';
import type { Attempt } from './attempt.ts';
import type { ClaimLoopOptions } from './claim-loop.ts';
import { claimRoom, MOST_SLOTS } from './claim-room.ts';
import { ClaimCursor } from './cursor.ts';
import { Desk } from './desk.ts';
import { HeartbeatState } from './heartbeat-state.ts';
import { HeldTasks } from './held-tasks.ts';
import { LATE_COMMIT_MS, LeaseLength } from './lease-length.ts';
import type { Handlers } from './load-handlers.ts';
import { markRunning } from './mark-running.ts';
import { Returner } from './returner.ts';
import type { WaitingSelection } from './run-queue.ts';
import { NOT_STORED, Settler, sayRefusal } from './settler.ts';
import { Shutdown } from './shutdown.ts';
import { SurveyCache } from './survey-cache.ts';
import { Sweeper } from './sweeper.ts';
import type { WorkerEnd, WorkerOptions } from './worker-options.ts';

/** How often as long as it takes to count what is unfinished does a worker pause before it counts again. */
const COUNT_SPACING = 20;

/** What a worker's loops share: the tasks it holds, on their way from claim to answer, and when it is to end. */
export class WorkerState {
  readonly options: WorkerOptions;
  readonly workerId: number;
  /** What it has handlers for, now. */
  types: readonly string[];
  readonly cursor = new ClaimCursor();
  readonly held: HeldTasks;
  readonly desk: Desk;
  readonly settler: Settler;
  readonly returner: Returner;
  readonly heartbeat: HeartbeatState;
  /** For how long it leases what it claims. */
  readonly lease: LeaseLength;
  readonly shutdown: Shutdown;
  readonly roomBell = new Bell();
  readonly hintBell = new Bell();
  /** What operators want of it. */
  orders: Orders;
  /** Handlers of which others have types locked, so that the database does not have all that they say; see `storeTypes`. */
  unstored: Handlers | undefined;
  /** When the answer of a claim was last lost (`performance.now()`): tasks may be ours that we do not know of. */
  claimLostAt: number | undefined;
  /** When they have run out. */
  #lostClaimOverAt = Infinity;
  /** What `untilIdle` left. */
  left: Readonly<Record<string, number>> = {};
  readonly #db: Queryable;
  readonly #survey: SurveyCache;
  readonly #sweeper: Sweeper;
  /** Counting what is unfinished reads the whole live table. */
  readonly #counts = new Spacing(COUNT_SPACING);
  /** A claim under way may bring what is not to run here any more. */
  #checksNextClaim = false;

  /** `beside`: for what may take its time, or fail, without saying anything of the connection. */
  constructor(db: Queryable, beside: Queryable, workerId: number, options: WorkerOptions) {
    const { handlers, leaseMs, heartbeatMs, graceMs, killAfterMs, events } = options;
    const onTrouble = (error: unknown) => this.trouble(error);
    this.lease = new LeaseLength(leaseMs, heartbeatMs);
    const marking = { workerId, lease: this.lease, onTrouble };
    this.#db = db;
    this.options = options;
    this.workerId = workerId;
    this.types = [...handlers.keys()];
    this.orders = ordersAtFirst(options);
    this.heartbeat = new HeartbeatState({ leaseMs: () => this.lease.ms, events, room: this.roomBell });
    this.shutdown = new Shutdown(options.stop, events);
    const lane = new Lane();
    this.#survey = new SurveyCache({
      db,
      beside,
      lane,
      workerId,
      types: () => this.types,
      queues: () => this.orders.queues,
      onFound: () => this.hintBell.ring(),
      onTrouble,
    });
    this.#sweeper = new Sweeper({
      db: beside,
      lane,
      cursor: this.cursor,
      types: () => this.types,
      onMissed: () => this.hintBell.ring(),
      onTrouble,
    });
    this.held = new HeldTasks({ events, room: this.roomBell });
    this.returner = new Returner(db, workerId, (held, started) => {
      this.held.givenBack(held, started);
      // It kept its place, which our cursor has passed.
      this.wake(held.task.queue, held.task.availableAtUs);
    });
    this.settler = new Settler(db, workerId, {
      onAnswer: (held, settlement, answer) => {
        if (!this.held.has(held)) return;
        this.held.settled(held, settlement, answer);
        if (answer.consequence?.reason === NOT_STORED && settlement.outcome.kind !== 'dead')
          this.#tellNotStored(settlement, 'the back-off of the task cannot be evaluated');
        // A retry may be due before the next look.
        if (answer.consequence?.status === 'pending' || options.untilIdle) this.hintBell.ring();
      },
      onNotStored: (settlement, error) => this.#tellNotStored(settlement, sayRefusal(error)),
      onRefused: ({ id }, error) =>
        events.event('outcome.refused', { task_id: id, error: sayRefusal(error) }),
      onTrouble,
    });
    this.desk = new Desk({
      handlers,
      concurrency: () => this.concurrency,
      graceMs,
      killAfterMs,
      events,
      table: this.held.table,
      room: this.roomBell,
      timeoutOf: (task) => this.#survey.timeoutOf(task),
      onOutcome: (held, settlement) => this.settler.add(held, settlement),
      onGiveBack: (held, started) => this.returner.add(held, started),
      onDrop: (held) => this.held.lost(held),
      markRunning: (attempt) => markRunning(db, attempt, marking),
    });
  }

  claimLoopOptions(): ClaimLoopOptions {
    const { untilIdle } = this.options;
    return {
      db: this.#db,
      workerId: this.workerId,
      types: () => this.types,
      lease: this.lease,
      pollMs: () => this.orders.pollMs,
      cursor: this.cursor,
      room: () => this.#room(),
      roomBell: this.roomBell,
      hintBell: this.hintBell,
      hears: () => this.heartbeat.hears && !untilIdle,
      lookBehind: (queues) => this.#sweeper.look(queues, this.shutdown.stop),
      queuesNow: () => this.#survey.queuesNow(),
      queuesKnown: () => this.#survey.queuesKnown(),
      markIdle: (ms) => this.#survey.markIdle(ms),
      onClaimed: (tasks) => {
        this.held.add(this.desk.take(tasks));
        if (this.#checksNextClaim) this.#giveBackUnserved();
        this.#checksNextClaim = false;
      },
      onTrouble: (error) => {
        this.claimLostAt = performance.now();
        this.#lostClaimOverAt = this.claimLostAt + this.lease.longestMs + LATE_COMMIT_MS;
        this.trouble(error);
      },
      onIdle: () => this.#isDone(),
      stop: this.shutdown.stop,
    };
  }

  /** How many tasks it may run at a time. */
  get concurrency(): number {
    return Math.min(this.orders.concurrency, MOST_SLOTS);
  }

  /** After an outage it is not known what was missed. */
  lookAnew(): void {
    this.cursor.reset();
    this.settler.retry();
    this.hintBell.ring();
    this.roomBell.ring();
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
    this.#survey.add(queue);
    this.hintBell.ring();
  }

  /** What a claim took whose answer was lost has run out by now, and is to be looked for. */
  get isLostClaimOver(): boolean {
    return this.claimLostAt !== undefined && performance.now() > this.#lostClaimOverAt;
  }

  /** Log what the database refused; that it does not answer is the connection's to tell. */
  trouble(error: unknown): void {
    const { events, databaseUrl } = this.options;
    if (!isUnanswered(error)) events.event('statement.failed', { error: sayTrouble(error, databaseUrl) });
  }

  /** An error that nobody caught: its attempt fails with it. What this process is worth now nobody knows. */
  stray(attempt: Attempt | undefined, thrown: unknown): void {
    const task = attempt?.held.task;
    this.shutdown.retire(
      `an error nobody caught: ${messageOf(thrown)}`,
      task && { task_id: task.id, type: task.type },
    );
  }

  /** Give back what waits for a slot and is not to run here any more, be it that its claim is still under way. */
  emptyAhead(): void {
    this.#checksNextClaim = true;
    this.#giveBackUnserved();
  }

  #tellNotStored({ id }: Settlement, error: string): void {
    this.options.events.event('outcome.not_stored', { task_id: id, error });
  }

  #giveBackUnserved(): void {
    const isUnserved = (task: ClaimedTask) => !this.#serves(task);
    void this.giveBack(isUnserved).catch((error: unknown) => this.trouble(error));
  }

  #serves({ queue, type }: ClaimedTask): boolean {
    return this.types.includes(type) && runsQueue(this.orders, queue);
  }

  /** Give back what of the tasks that wait for a slot is meant. Throws as `Returner.flush` does. */
  giveBack(which: WaitingSelection): Promise<void> {
    for (const held of this.desk.takeBack(which)) this.returner.add(held, false);
    return this.returner.flush(0);
  }

  tellProgress(): void {
    const news = this.held.tally.takeNews();
    if (news !== undefined)
      this.options.events.event('worker.progress', { ...news, running: this.desk.running });
  }

  end(): WorkerEnd {
    const { completed, failed, died } = this.held.tally.total;
    return { exitCode: this.shutdown.exitCode, completed, failed: failed + died, left: this.left };
  }

  #room(): { start: number; ahead: number } {
    const { desk, held, settler, heartbeat, shutdown, options, concurrency } = this;
    const { maxTasks } = options;
    if (desk.abandoned >= concurrency) shutdown.retire('every slot is held by a handler that does not end');
    const wanted = maxTasks === null ? Infinity : maxTasks - held.tally.ended - held.size;
    if (wanted <= 0 && held.size <= desk.abandoned) this.#end();
    if (shutdown.stop.aborted || settler.stuck || heartbeat.isSilent) return { start: 0, ahead: 0 };
    return claimRoom({
      concurrency,
      batch: this.orders.batch,
      freeSlots: desk.freeSlots,
      waiting: desk.waiting,
      meanRunMs: desk.meanRunMs,
      busyMs: desk.busyMs,
      meanLength: desk.meanLength,
      most: Math.max(0, Math.min(wanted, held.table.room - concurrency)),
    });
  }

  /** It has done what it was to do. */
  #end(): void {
    if (this.desk.abandoned > 0) this.shutdown.retire('its other work is done, and a handler does not end');
    else this.shutdown.finish();
  }

  /** Asked when nothing is due. Nothing else runs than what does not end: then this worker is done, or is to retire. */
  async #isDone(): Promise<boolean> {
    const { desk, options } = this;
    if (this.held.size > desk.abandoned) return false;
    if (desk.abandoned === 0) {
      if (!options.untilIdle) return false;
      const counted = await this.#countUnfinished();
      if (counted === undefined || counted.unfinished > 0) return false;
      this.left = counted.leftForLater;
    }
    this.#end();
    return true;
  }

  /** Undefined: it is not time to count again, or it failed. */
  async #countUnfinished(): Promise<Unfinished | undefined> {
    const began = performance.now();
    if (!this.#counts.isDue(began)) return undefined;
    try {
      const counted = await countUnfinished(this.#db, this.types, this.orders.queues);
      this.#counts.done(performance.now() - began, performance.now());
      return counted;
    } catch (error) {
      this.#counts.failed(performance.now() - began, performance.now());
      if (isUnanswered(error)) throw error;
      this.trouble(error);
      return undefined;
    }
  }
}

function ordersAtFirst(options: WorkerOptions): Orders {
  const { paused, concurrency, pollMs, leaseMs, batch, queues } = options;
  return {
    ...{ paused, pausedBy: null, stop: false, stopBy: null },
    ...{ concurrency, pollMs, leaseMs, batch, queues, pausedQueues: [] },
  };
}
