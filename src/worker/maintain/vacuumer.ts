import type { Queryable } from '../../lib/database.ts';
import { findDueVacuum, vacuum } from '../../queue/protocol/vacuum.ts';
import type { EventLog } from '../log/events.ts';

export interface VacuumerOptions {
  /** Where it fails, or takes too long, that says nothing of the connection. */
  readonly db: Queryable;
  readonly events: EventLog;
  /** How many attempts have ended here so far: each has left a dead row. */
  readonly ended: () => number;
}

/** Fewer of its own are not worth asking for. */
const WORTH_ASKING = 250;
const WORTH_A_VACUUM = 500;
/** So many that a vacuum leaves are not those of the moment: a snapshot is open somewhere that may see them. */
const LEFT_IN_VAIN = 10_000;
/** After a vacuum, by whomever; while vacuums are in vain, twice as long each time. */
const LEAST_WAIT_MS = 500;
const MOST_WAIT_MS = 30_000;
/** The share of the time that they may take. */
const SHARE = 0.1;

/** Vacuums the live table while its worker leaves dead rows there: autovacuum alone comes late, and they are many. */
export class Vacuumer {
  readonly #options: VacuumerOptions;
  #endedBefore = 0;
  #waitMs = LEAST_WAIT_MS;
  #notBefore = 0;

  constructor(options: VacuumerOptions) {
    this.#options = options;
  }

  /** Vacuum, if it is time to. */
  async look(): Promise<void> {
    const { db, events, ended } = this.#options;
    if (performance.now() < this.#notBefore || ended() - this.#endedBefore < WORTH_ASKING) return;
    this.#endedBefore = ended();
    const waitedMs = this.#waitMs;
    const statement = await findDueVacuum(db, { deadRows: WORTH_A_VACUUM, afterMs: waitedMs });
    if (statement === undefined) return;
    // Should it fail, as it does where it takes too long.
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
