import { after } from '../../lib/after.ts';
import type { Queryable } from '../../lib/database.ts';
import { every } from '../../lib/every.ts';
import { rescue } from '../../queue/protocol/rescue.ts';
import type { Ledger } from '../lease/ledger.ts';
import type { RegisteredWorker } from '../lease/registered-worker.ts';
import type { EventLog } from '../log/events.ts';
import { RefusedTasks } from '../log/refused-tasks.ts';
import { HeldTurn } from './held-turn.ts';
import { SilenceWatch } from './silence-watch.ts';

/**
 * In the first interval, check this many times as often while any worker is quiet: this one may end before a second
 * check.
 */
const FIRST_LOOKS = 5;

/** The worker a rescuer belongs to. */
export interface RescuingWorker extends RegisteredWorker {
  readonly ledger: Ledger;
  readonly rescueMs: number;
  /** A task waits in this queue, due at `fromUs`. */
  wake(queue: string, fromUs: number): void;
  /** A statement failed and will be retried. */
  onStatementFailed(error: unknown): void;
}

/** The worker's connection: whether it is known to be lost, and how long it has been uninterrupted. */
export interface WatchedConnection extends Queryable {
  readonly isLost: boolean;
  readonly steadyMs: number;
}

/** Watches the other workers of the database, and rescues the tasks of lost ones. */
export class Rescuer {
  readonly #db: WatchedConnection;
  readonly #worker: RescuingWorker;
  readonly #events: EventLog;
  readonly #watch = new SilenceWatch();
  readonly #refused: RefusedTasks;
  readonly #turn: HeldTurn;

  constructor(db: WatchedConnection, worker: RescuingWorker, events: EventLog) {
    this.#db = db;
    this.#worker = worker;
    this.#events = events;
    this.#refused = new RefusedTasks(events);
    this.#turn = new HeldTurn(events, 'rescue');
  }

  /** Check periodically until the signal aborts; the last check records for later workers what was seen. */
  async run(signal: AbortSignal): Promise<void> {
    const { rescueMs } = this.#worker;
    const onError = (error: unknown) => this.#worker.onStatementFailed(error);
    // Not AbortSignal.timeout: only `first` would refer to it, weakly, and a collected signal never aborts.
    const firstIsOver = new AbortController();
    const callOff = after(rescueMs, () => firstIsOver.abort());
    const first = AbortSignal.any([signal, firstIsOver.signal]);
    let isFirst = true;
    const lookEarly = async () => {
      if (isFirst || !this.#watch.isEmpty) await this.#look(signal);
      isFirst = false;
    };
    await every(lookEarly, { everyMs: rescueMs / FIRST_LOOKS, signal: first, onError });
    callOff();
    await every(() => this.#look(signal), { everyMs: rescueMs, signal, onError });
    if (!this.#watch.isEmpty && this.#db.steadyMs > 0) await this.#ask(signal, 'only look').catch(onError);
  }

  /**
   * Rescue only after a heartbeat interval without interruption: after an outage, or when a whole machine was frozen,
   * every worker first renews its leases. Until then only watch the others, unless earlier watchers show that one of
   * them is silent. `SilenceWatch` decides who is silent.
   */
  async #look(signal: AbortSignal): Promise<void> {
    const db = this.#db;
    // While every slot is taken, no other statement notices that the database is back.
    if (db.isLost) await db.query({ text: 'select 1' });
    if (db.steadyMs === 0) return this.#watch.forget();
    if (db.steadyMs < this.#worker.lease.heartbeatMs) {
      await this.#ask(signal, 'only look');
      if (Object.keys(this.#watch.silent(performance.now(), db.steadyMs)).length === 0) return;
    }
    await this.#ask(signal, 'rescue');
  }

  async #ask(signal: AbortSignal, what: 'rescue' | 'only look'): Promise<void> {
    const { workerId, ledger, rescueMs } = this.#worker;
    const now = performance.now();
    const lostClaims = ledger.lostClaims.filter(({ overAt }) => now > overAt);
    const hasLostClaim = lostClaims.length > 0;
    const { steadyMs } = this.#db;
    const { quiet, rescued, isComplete, heldBy, rank } = await rescue(this.#db, {
      caller: { workerId, held: () => ledger.held().map(({ id }) => id), hasLostClaim },
      others: {
        silent: this.#watch.silent(now, steadyMs),
        watching: this.#watch.watching(now, steadyMs),
      },
      scan: { gapMs: rescueMs, onlyLook: what === 'only look', outOfTurn: this.#turn.isOverdue },
      signal,
    }).catch((error: unknown) => {
      this.#watch.forget();
      throw error;
    });
    this.#watch.looked(quiet, performance.now());
    if (what === 'only look') return;
    if (heldBy === undefined) this.#turn.free();
    else this.#turn.missed(heldBy, rank);
    // Only a complete scan covers the lost claims.
    if (isComplete) ledger.searchedFor(lostClaims);
    for (const { id, queue, type, status, availableAtUs, error } of rescued ?? []) {
      if (status === 'refused') {
        this.#refused.log({ task_id: id, type, queue, error: error ?? 'unknown' });
        continue;
      }
      this.#events.event('task.rescued', { task_id: id, type, queue, status });
      this.#worker.wake(queue, availableAtUs);
    }
  }
}
