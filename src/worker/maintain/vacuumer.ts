import type { Queryable } from '../../lib/database.ts';
import { findDueVacuum, vacuum } from '../../queue/protocol/vacuum.ts';
import type { EventLog } from '../log/events.ts';

export interface VacuumerOptions {
  /** Where failures and delays do not mean that the worker's connection is lost. */
  readonly db: Queryable;
  readonly events: EventLog;
  /** How many attempts have ended here so far; each has left a dead row. */
  readonly ended: () => number;
}

/** Do not ask with fewer ended attempts. */
const WORTH_ASKING = 250;
const WORTH_A_VACUUM = 500;
/**
 * A vacuum that leaves this many rows was in vain: these are not just the latest, so an open snapshot may still see
 * them.
 */
const LEFT_IN_VAIN = 10_000;
/** Wait after a vacuum by any worker; twice as long each time while vacuums are in vain. */
const LEAST_WAIT_MS = 500;
const MOST_WAIT_MS = 30_000;
/** The share of the time that vacuums may take. */
const SHARE = 0.1;

/** Vacuums the live table while its worker leaves many dead rows there: autovacuum alone comes too late. */
export class Vacuumer {
  readonly #options: VacuumerOptions;
  #endedBefore = 0;
  #waitMs = LEAST_WAIT_MS;
  #notBefore = 0;

  constructor(options: VacuumerOptions) {
    this.#options = options;
  }

  /** Vacuum if it is due. */
  async look(): Promise<void> {
    const { db, events, ended } = this.#options;
    if (performance.now() < this.#notBefore || ended() - this.#endedBefore < WORTH_ASKING) return;
    this.#endedBefore = ended();
    const waitedMs = this.#waitMs;
    const statement = await findDueVacuum(db, { deadRows: WORTH_A_VACUUM, afterMs: waitedMs });
    if (statement === undefined) return;
    if (statement === null) {
      this.#notBefore = Number.POSITIVE_INFINITY;
      events.event('vacuum.forbidden');
      return;
    }
    // In case the vacuum fails, for example because it takes too long.
    this.#wait(MOST_WAIT_MS);
    const began = performance.now();
    await vacuum(db, statement);
    const tookMs = performance.now() - began;
    const wasInVain = (await findDueVacuum(db, { deadRows: LEFT_IN_VAIN, afterMs: 0 })) !== undefined;
    const nextMs = wasInVain ? Math.min(2 * waitedMs, MOST_WAIT_MS) : LEAST_WAIT_MS;
    this.#wait(Math.max(nextMs, tookMs / SHARE));
    events.event('worker.vacuumed', { took_ms: Math.round(tookMs) });
  }

  #wait(ms: number): void {
    this.#waitMs = ms;
    this.#notBefore = performance.now() + ms;
  }
}
