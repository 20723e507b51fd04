import { type ClaimedTask, type Lease, leaseKey } from '../domain/task.ts';
import { Bell } from '../lib/bell.ts';
import { isPassing, type Queryable } from '../lib/database.ts';
import { countUnfinished } from '../queue/count-unfinished.ts';
import { heartbeat } from '../queue/heartbeat.ts';
import { type Survey, survey } from '../queue/survey.ts';
import type { Attempt, HeldTask } from './attempt.ts';
import type { ClaimLoopOptions } from './claim-loop.ts';
import { claimRoom, MOST_AHEAD } from './claim-room.ts';
import { ClaimCursor } from './cursor.ts';
import { Desk } from './desk.ts';
import { LeaseTable } from './lease-table.ts';
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
  readonly types: readonly string[];
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
  /** Whether hints arrive. */
  hears = false;
  /** When a heartbeat was last answered: without them what is claimed would be lost again. */
  lastBeatenAt = performance.now();
  /** When the answer of a claim was last lost (`performance.now()`): tasks may be ours that we do not know of. */
  claimLostAt: number | undefined;
  /** What `untilIdle` left. */
  left: Readonly<Record<string, number>> = {};
  readonly #db: Queryable;
  readonly #own = new AbortController();
  /** Everything in the lease table, by lease. */
  readonly #held = new Map<string, HeldTask>();
  #survey: { at: number; found: Survey } | undefined;
  #exitCode: 0 | 1 = 0;

  constructor(db: Queryable, workerId: number, options: WorkerOptions) {
    const { handlers, concurrency, graceMs, events } = options;
    this.#db = db;
    this.options = options;
    this.workerId = workerId;
    this.types = [...handlers.keys()];
    this.table = new LeaseTable(concurrency + 4 * MOST_AHEAD);
    this.stop = AbortSignal.any([options.stop, this.#own.signal]);
    this.returner = new Returner(db, (held, started) => {
      events.event('task.given_back', { task_id: held.task.id, type: held.task.type, started });
      this.tally.count('given_back');
      this.#leave(held);
      // It kept its place, which our cursor has passed.
      this.wake(held.task.queue, held.task.availableAtUs);
    });
    this.settler = new Settler(db, {
      onAnswer: (settlement, answer) => {
        const held = this.#held.get(leaseKey(settlement));
        if (held === undefined) return;
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
      concurrency,
      graceMs,
      events,
      table: this.table,
      room: this.roomBell,
      timeoutOf: (task) => this.#timeoutOf(task),
      onOutcome: (_, settlement) => this.settler.add(settlement),
      onGiveBack: (held, started) => this.returner.add(held, started),
      onDrop: (held) => {
        const { id, type, attempts } = held.task;
        events.event('lease.lost', { task_id: id, type, attempt: attempts + 1 });
        this.tally.count('lost');
        this.#leave(held);
      },
      markRunning: (held) => this.#markRunning(held),
    });
  }

  claimLoopOptions(): ClaimLoopOptions {
    const { queues, leaseMs, pollMs, untilIdle } = this.options;
    return {
      db: this.#db,
      workerId: this.workerId,
      types: this.types,
      queues,
      leaseMs,
      pollMs,
      cursor: this.cursor,
      room: () => this.#room(),
      roomBell: this.roomBell,
      hintBell: this.hintBell,
      hears: () => this.hears && !untilIdle,
      queuesNow: () => this.#queuesNow(),
      onClaimed: (tasks) => {
        for (const held of this.desk.take(tasks)) this.#held.set(leaseKey(held.task), held);
      },
      onTrouble: (error) => {
        this.claimLostAt = performance.now();
        this.trouble(error);
      },
      onIdle: () => this.#isDone(),
      stop: this.stop,
    };
  }

  /** The ids of everything between its claim and the answer to its outcome. */
  heldIds(): string[] {
    return [...this.#held.values()].map(({ task }) => task.id);
  }

  /** How many tasks have no answer yet. */
  get holds(): number {
    return this.#held.size;
  }

  /** After an outage it is not known what was missed. */
  lookAnew(): void {
    this.cursor.reset();
    this.hintBell.ring();
  }

  /** A task waits in this queue from that time on. */
  wake(queue: string, fromUs: number): void {
    this.cursor.rewind(queue, fromUs);
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

  /** Log what the database refused; what is passing is the connection's to tell. */
  trouble(error: unknown): void {
    if (!isPassing(error)) this.options.events.event('statement.failed', { error: messageOf(error) });
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
    this.#held.delete(leaseKey(held.task));
    this.table.leave(held.slot);
    this.roomBell.ring();
  }

  #room(): { start: number; ahead: number } {
    const { desk, settler, options } = this;
    const { concurrency, batch, maxTasks } = options;
    if (desk.abandoned >= concurrency) this.retire('every slot is held by a handler that does not end');
    const wanted = maxTasks === null ? Infinity : maxTasks - this.tally.ended - this.holds;
    if (wanted <= 0 && this.holds === 0) this.#own.abort();
    const isSilent = performance.now() - this.lastBeatenAt > (options.leaseMs * 2) / 3;
    if (this.stop.aborted || settler.stuck || isSilent) return { start: 0, ahead: 0 };
    return claimRoom({
      concurrency,
      batch,
      freeSlots: desk.freeSlots,
      waiting: desk.waiting,
      meanRunMs: desk.meanRunMs,
      most: Math.max(0, Math.min(wanted, this.table.room - concurrency)),
    });
  }

  async #queuesNow(): Promise<readonly string[]> {
    const now = performance.now();
    if (this.#survey === undefined || now - this.#survey.at > SURVEY_MS) {
      this.#survey = { at: now, found: await survey(this.#db, this.types) };
    }
    return this.options.queues ?? this.#survey.found.queues;
  }

  #timeoutOf({ timeoutMs, type, queue }: ClaimedTask): number | null {
    const found = this.#survey?.found;
    return timeoutMs ?? found?.typeTimeouts[type] ?? found?.queueTimeouts[queue] ?? found?.timeoutMs ?? null;
  }

  async #markRunning({ task }: HeldTask): Promise<boolean> {
    const { workerId } = this;
    const { leaseMs } = this.options;
    try {
      const held = [{ id: task.id, leaseNo: task.leaseNo, startedMs: 0 }];
      const answers = await heartbeat(this.#db, { workerId, leaseMs, held });
      return answers[0]?.answer === 'renewed';
    } catch (error) {
      this.trouble(error);
      return false;
    }
  }

  /** Asked when nothing is due. Nothing else runs than what does not end: then this worker is done, or is to retire. */
  async #isDone(): Promise<boolean> {
    const { desk, options } = this;
    if (this.holds > desk.abandoned) return false;
    if (desk.abandoned > 0) {
      this.retire('its other work is done, and a handler does not end');
      return true;
    }
    if (!options.untilIdle) return false;
    const { unfinished, leftForLater } = await countUnfinished(this.#db, this.types, options.queues);
    if (unfinished > 0) return false;
    this.left = leftForLater;
    this.#own.abort();
    return true;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
