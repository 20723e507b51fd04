import { every } from '../lib/every.ts';
import { rescue } from '../queue/rescue.ts';
import type { ConnectionState } from './connection-state.ts';
import { HeldTurn } from './held-turn.ts';
import { RefusedTasks } from './refused-tasks.ts';
import { SilenceWatch } from './silence-watch.ts';
import type { WorkerState } from './worker-state.ts';

/** A worker may not live until its second look: the first ones come so many times as often while somebody is quiet. */
const FIRST_LOOKS = 5;

/** Looks at the other workers of the database, and brings back the tasks of those that are gone. */
export class Rescuer {
  readonly #db: ConnectionState;
  readonly #state: WorkerState;
  readonly #watch = new SilenceWatch();
  readonly #refused: RefusedTasks;
  readonly #turn: HeldTurn;

  constructor(db: ConnectionState, state: WorkerState) {
    this.#db = db;
    this.#state = state;
    this.#refused = new RefusedTasks(state.options.events);
    this.#turn = new HeldTurn(state.options.events, 'rescue');
  }

  /** Look now and again until the signal aborts; the last look tells later workers what was seen. */
  async run(signal: AbortSignal): Promise<void> {
    const { rescueMs } = this.#state.options;
    const onError = (error: unknown) => this.#state.onTrouble(error);
    const first = AbortSignal.any([signal, AbortSignal.timeout(rescueMs)]);
    let isFirst = true;
    const lookEarly = async () => {
      if (isFirst || !this.#watch.isEmpty) await this.#look(signal);
      isFirst = false;
    };
    await every(lookEarly, { everyMs: rescueMs / FIRST_LOOKS, signal: first, onError });
    await every(() => this.#look(signal), { everyMs: rescueMs, signal, onError });
    if (!this.#watch.isEmpty && this.#db.steadyMs > 0) await this.#ask(signal, 'only look').catch(onError);
  }

  /**
   * Only after a heartbeat interval without an interruption: after an outage, or when a whole machine was frozen,
   * everybody renews first. Until then this worker only watches the others, unless the silence of one is known from
   * those who watched it before. For who has been silent so long, see `SilenceWatch`.
   */
  async #look(signal: AbortSignal): Promise<void> {
    const db = this.#db;
    // Where every slot is taken, nothing else asks whether the database is back.
    if (db.isLost) await db.query({ text: 'select 1' });
    if (db.steadyMs === 0) return this.#watch.forget();
    if (db.steadyMs < this.#state.lease.heartbeatMs) {
      await this.#ask(signal, 'only look');
      if (Object.keys(this.#watch.silent(performance.now(), db.steadyMs)).length === 0) return;
    }
    await this.#ask(signal, 'rescue');
  }

  async #ask(signal: AbortSignal, what: 'rescue' | 'only look'): Promise<void> {
    const state = this.#state;
    const { ledger } = state;
    const { lostClaim } = ledger;
    const now = performance.now();
    const own = lostClaim !== undefined && now > lostClaim.overAt;
    const { steadyMs } = this.#db;
    const { quiet, rescued, heldBy, place } = await rescue(this.#db, {
      workerId: state.workerId,
      held: () => ledger.held().map(({ id }) => id),
      own,
      onlyLook: what === 'only look',
      outOfTurn: this.#turn.isOverdue,
      gapMs: state.options.rescueMs,
      watched: this.#watch.silent(now, steadyMs),
      watching: this.#watch.watching(now, steadyMs),
      signal,
    }).catch((error: unknown) => {
      this.#watch.forget();
      throw error;
    });
    this.#watch.looked(quiet, performance.now());
    if (what === 'only look') return;
    if (heldBy === undefined) this.#turn.free();
    else this.#turn.missed(heldBy, place);
    // Only a whole scan has looked for it.
    if (own && rescued !== undefined) ledger.lookedFor(lostClaim);
    for (const { id, queue, type, status, availableAtUs, error } of rescued ?? []) {
      if (status === 'refused') {
        this.#refused.tell({ task_id: id, type, queue, error: error ?? 'unknown' });
        continue;
      }
      state.options.events.event('task.rescued', { task_id: id, type, queue, status });
      state.wake(queue, availableAtUs);
    }
  }
}
