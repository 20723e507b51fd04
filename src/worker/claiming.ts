import { isUnanswered } from '../lib/database.ts';
import { Throttle } from '../lib/throttle.ts';
import type { Room } from '../queue/protocol/claim.ts';
import { countUnfinished, type Unfinished } from '../queue/protocol/count-unfinished.ts';
import { type ClaimLoopHost, claimLoop } from './claim/claim-loop.ts';
import { claimRoom, NO_ROOM } from './claim/claim-room.ts';
import { Claimer, type ClaimerHost } from './claim/claimer.ts';
import type { WorkerState } from './worker-state.ts';

/** With `untilIdle`, waits that are shorter are not logged. */
const MIN_WAIT_MS = 1000;
const LOG_WAIT_MS = 60_000;
/** After each count of unfinished tasks, wait this many times as long as it took. */
const COUNT_PAUSE_FACTOR = 20;

/** A worker that ends when it is idle waits this long for the next batch of an operation. */
const NEXT_BATCH_MS = 2000;

/**
 * If it has ended a task within this time, it waits this long for the batch: the task may have been the last of a
 * canary, which is checked at least this often.
 */
const NEXT_LOOK_MS = 15_000;

/** Claim tasks for a worker until it stops, and stop it when its work is done. */
export function claimUntilStopped(state: WorkerState): Promise<void> {
  const { ledger, cursor, sweeper, promised, executor, refused, claimContext, shutdown } = state;
  const claimerHost: ClaimerHost = {
    form: state.options.claims.claimForm,
    onClaimed: (reservation, tasks) => executor.take(reservation, tasks),
    onRefused: ({ id, type, queue, error, code }) =>
      refused.log({ task_id: id, type, queue, error: `${error} (SQLSTATE ${code})` }),
  };
  const claimer = new Claimer({ worker: state, ledger, cursor, sweeper, promised, host: claimerHost });
  const host = new ClaimHost(state);
  const { stop } = shutdown;
  return claimLoop({ host, claimer, context: claimContext, promised, wakeups: state, stop });
}

/** Decides how much a worker claims, and when it has nothing left to claim. */
class ClaimHost implements ClaimLoopHost {
  readonly #state: WorkerState;
  #waitLoggedAt = -Infinity;
  /** Spaces out the counts of unfinished tasks, each of which reads the whole live table. */
  readonly #counts = new Throttle(COUNT_PAUSE_FACTOR);
  /** How many tasks have ended here, and when that number last rose. */
  #ended = 0;
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor(state: WorkerState) {
    this.#state = state;
  }

  get pollMs(): number {
    return this.#state.orders.pollMs;
  }

  get receivesHints(): boolean {
    const { heartbeat, options } = this.#state;
    return heartbeat.receivesHints && !options.end.untilIdle;
  }

  get effects(): number {
    return this.#state.reporter.effects;
  }

  get groupedOutcomes(): number {
    return this.#state.ledger.reports.grouped;
  }

  hasEffectsBeyond(effects: number, ms: number): Promise<boolean> {
    return this.#state.reporter.hasEffectsBeyond(effects, ms, this.#state.shutdown.stop);
  }

  onStatementFailed(error: unknown): void {
    this.#state.onStatementFailed(error);
  }

  /** End a worker that has run `maxTasks`; retire one whose handlers hold every slot. */
  endIfDone(): void {
    const { ledger, shutdown, concurrency } = this.#state;
    if (ledger.abandoned >= concurrency)
      shutdown.retire('handlers that ignore their abort signal hold every slot');
    if (this.#wanted <= 0 && ledger.size <= ledger.abandoned) this.#end();
  }

  room(): Room {
    const { executor, ledger, reporter, heartbeat, shutdown, orders, concurrency } = this.#state;
    if (shutdown.stop.aborted || reporter.isStuck || heartbeat.isSilent) return NO_ROOM;
    const most = Math.max(0, Math.min(this.#wanted, ledger.room - concurrency));
    return claimRoom(executor, ledger.waiting, orders.batch, most);
  }

  /** Also ends a worker for which only abandoned handlers still run. */
  async endIfIdle(): Promise<boolean> {
    const { ledger, options, scheduler } = this.#state;
    if (ledger.size > ledger.abandoned) return false;
    if (ledger.abandoned === 0) {
      // Handle due ticks and batches before counting: a tick enqueues a task, and a batch of an operation makes some
      // due.
      if (!options.end.untilIdle || !(await scheduler.isSettled()) || (await this.#advancesOperation()))
        return false;
      const counted = await this.#countUnfinished();
      if (counted === undefined) return false;
      if (counted.unfinished > 0) {
        this.#logWait(counted);
        return false;
      }
      this.#state.left = counted.leftForLater;
    }
    this.#end();
    return true;
  }

  /** How many more tasks it may claim until it has run `maxTasks`. */
  get #wanted(): number {
    const { ledger, ends, options } = this.#state;
    const { maxTasks } = options.end;
    return maxTasks === null ? Infinity : maxTasks - ends.counts.ended - ledger.size;
  }

  /** Log what a worker waits for before it ends, at first and then once a minute. */
  #logWait({ unfinished, nextDueMs }: Unfinished): void {
    const now = performance.now();
    if (nextDueMs === null || nextDueMs < MIN_WAIT_MS || now < this.#waitLoggedAt + LOG_WAIT_MS) return;
    this.#waitLoggedAt = now;
    this.#state.events.event('worker.waiting', {
      tasks: unfinished,
      due_in_ms: Math.round(nextDueMs),
    });
  }

  /** End after the last task; retire if an abandoned handler still runs. */
  #end(): void {
    const { ledger, shutdown } = this.#state;
    if (ledger.abandoned > 0)
      shutdown.retire('a handler ignores its abort signal, and all other work is done');
    else shutdown.finish();
  }

  async #advancesOperation(): Promise<boolean> {
    const { ended } = this.#state.ends.counts;
    if (ended > this.#ended) this.#endedAt = performance.now();
    this.#ended = ended;
    const waitMs = performance.now() - this.#endedAt < NEXT_LOOK_MS ? NEXT_LOOK_MS : NEXT_BATCH_MS;
    try {
      return await this.#state.advancer.advanceOnce(waitMs);
    } catch (error) {
      if (isUnanswered(error)) throw error;
      this.onStatementFailed(error);
      return false;
    }
  }

  /** Undefined: the next count is not due yet, or it failed. */
  async #countUnfinished(): Promise<Unfinished | undefined> {
    const { db, types, queues } = this.#state;
    if (!this.#counts.isDue(performance.now())) return undefined;
    try {
      return await this.#counts.run(() => countUnfinished(db, types, queues));
    } catch (error) {
      if (isUnanswered(error)) throw error;
      this.onStatementFailed(error);
      return undefined;
    }
  }
}
