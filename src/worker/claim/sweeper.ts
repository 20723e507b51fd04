import type { Queryable } from '../../lib/database.ts';
import type { SerialQueue } from '../../lib/serial-queue.ts';
import { Wakeup } from '../../lib/wakeup.ts';
import { findMissed } from '../../queue/protocol/find-missed.ts';
import type { ClaimCursor, Sweep } from './claim-cursor.ts';

export interface SweeperOptions {
  /** Where failures and delays do not mean that the worker's connection is lost. */
  readonly db: Queryable;
  /** Runs statements beside the claims one at a time, so that they do not take all connections. */
  readonly serial: SerialQueue;
  readonly cursor: ClaimCursor;
  /** The types handled now. */
  readonly types: () => readonly string[];
  /** Claims have passed a task that is due. */
  readonly onMissed: () => void;
  readonly onStatementFailed: (error: unknown) => void;
}

interface Running {
  readonly ended: Wakeup;
  readonly startedAt: number;
}

/** The first claims from a queue wait this long for the sweep that finds where they begin; then they only look back. */
const FIRST_SWEEP_MS = 1000;

/** Searches, beside the claims, for tasks that claims have passed. */
export class Sweeper {
  readonly #options: SweeperOptions;
  #running: Running | undefined;

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  /** Start a sweep if one is due. Resolves at once, unless a claim from these queues would not know where to begin. */
  async look(queues: readonly string[], stop: AbortSignal): Promise<void> {
    const { cursor } = this.#options;
    for (;;) {
      this.#running ??= this.#start(cursor.nextSweep(performance.now(), queues));
      if (this.#running === undefined || !cursor.isBlindIn(queues)) return;
      const { ended, startedAt } = this.#running;
      const leftMs = startedAt + FIRST_SWEEP_MS - performance.now();
      if (leftMs <= 0 || (await ended.wait(leftMs, stop)) !== 'triggered') return;
    }
  }

  #start(sweep: Sweep | undefined): Running | undefined {
    if (sweep === undefined) return undefined;
    const ended = new Wakeup();
    void this.#options.serial
      .run(() => this.#sweep(sweep))
      .finally(() => {
        this.#running = undefined;
        ended.trigger();
      });
    return { ended, startedAt: performance.now() };
  }

  async #sweep(sweep: Sweep): Promise<void> {
    const { db, cursor, types, onMissed, onStatementFailed } = this.#options;
    const began = performance.now();
    try {
      const missed = await findMissed(db, { ...sweep, types: types() });
      const now = performance.now();
      cursor.sweptBeside(sweep, missed, now - began, now);
      if (missed.first.some(({ isLimited }) => !isLimited)) onMissed();
    } catch (error) {
      const now = performance.now();
      cursor.sweepFailed(now - began, now);
      onStatementFailed(error);
    }
  }
}
