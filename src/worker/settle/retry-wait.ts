import type { HeldTask } from '../lease/held-task.ts';
import type { Ledger } from '../lease/ledger.ts';
import type { Redelivery } from '../lease/reports.ts';

/** Before the first repeat; it doubles with each further one. */
const FIRST_WAIT_MS = 50;

/** The longest wait while another transaction locks a task's row, or the worker is ending. */
const MAX_BUSY_WAIT_MS = 1000;

/** Puts a report that could not be taken back into the ledger, to be sent again after a wait. */
export class RetryWait {
  readonly #reports: Ledger['reports'];
  #maxWaitMs = Infinity;

  constructor(reports: Ledger['reports']) {
    this.#reports = reports;
  }

  /** The worker is ending: send every report now, and again every second until it is taken. */
  expedite(): void {
    this.#maxWaitMs = MAX_BUSY_WAIT_MS;
    this.#reports.expedite(performance.now());
  }

  /** Another transaction has its row locked. */
  locked(held: HeldTask, vainWaits = 0): void {
    this.later(held, MAX_BUSY_WAIT_MS, { isLocked: true, vainWaits });
  }

  /** It could not be taken: wait up to `maxWaitMs`. */
  later(
    held: HeldTask,
    maxWaitMs = MAX_BUSY_WAIT_MS,
    shown: Partial<Omit<Redelivery, 'waitMs' | 'notBefore'>> = {},
  ): void {
    const { waitMs: lastMs = 0, isAlone = false } = held.delivery ?? {};
    const waitMs = Math.min(maxWaitMs, this.#maxWaitMs, 2 * lastMs || FIRST_WAIT_MS);
    this.#reports.retryLater(held, { waitMs, notBefore: performance.now() + waitMs, isAlone, ...shown });
  }
}
