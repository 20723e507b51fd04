import { backingOffMs } from '../../lib/backing-off.ts';
import type { Queryable } from '../../lib/database.ts';
import { Wakeup } from '../../lib/wakeup.ts';
import { type Advanced, advanceOperations, type EndedOperation } from './advance-operations.ts';

export interface AdvancerOptions {
  readonly db: Queryable;
  readonly onEnded?: (operation: EndedOperation) => void;
  /** Called for the first of the failures in a row. */
  readonly onError: (error: unknown) => void;
}

/** How long it pauses after finding that others advance all operations: at first and at most. */
const SPARE: Readonly<{ baseMs: number; maxMs: number }> = { baseMs: 100, maxMs: 15_000 };

/**
 * Advances operations when their batches are due. Every worker and server has one. The one that advances an operation
 * continues with it; the others check less and less often whether it still does. Without an operation it does nothing
 * until it learns of one.
 */
export class Advancer {
  readonly #options: AdvancerOptions;
  readonly #wakeup = new Wakeup();
  /** `performance.now()` when the next batch is due, and before which it is left to others. */
  #dueAt = Number.POSITIVE_INFINITY;
  #spareUntil = 0;
  #spared = 0;

  constructor(options: AdvancerOptions) {
    this.#options = options;
  }

  /** An operation is running, or may be. */
  get isNeeded(): boolean {
    return this.#dueAt < Number.POSITIVE_INFINITY;
  }

  /** Learn when the next batch is due, in milliseconds; null: there is no operation. */
  learn(nextMs: number | null): void {
    if (nextMs === null && !this.isNeeded) return;
    this.#dueAt = nextMs === null ? Number.POSITIVE_INFINITY : performance.now() + nextMs;
    if (nextMs === null) this.#spareUntil = this.#spared = 0;
    this.#wakeup.trigger();
  }

  /** Advance what is due, until `stop`. */
  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.untilNone(stop);
      await this.#wakeup.wait(Number.POSITIVE_INFINITY, stop);
    }
  }

  /** Advance what is due, until no operation is running, or `stop`. */
  async untilNone(stop: AbortSignal): Promise<void> {
    for (let failures = 0; !stop.aborted && this.isNeeded; ) {
      const waitMs = Math.max(this.#dueAt, this.#spareUntil) - performance.now();
      if (waitMs > 0) {
        await this.#wakeup.wait(waitMs, stop);
        continue;
      }
      try {
        await this.#advance(stop);
        failures = 0;
      } catch (error) {
        failures += 1;
        if (failures === 1) this.#options.onError(error);
        await this.#wakeup.wait(backingOffMs(failures, Math.random()), stop);
      }
    }
  }

  /** Advance once what is due now, even without having learned of it. Returns whether more is due within `ms`. */
  async advanceOnce(ms: number): Promise<boolean> {
    const { advanced, nextMs, ended } = await advanceOperations(this.#options.db);
    for (const operation of ended) this.#options.onEnded?.(operation);
    return advanced > 0 || (nextMs !== null && nextMs <= ms);
  }

  async #advance(stop: AbortSignal): Promise<void> {
    const { onEnded } = this.#options;
    const began = performance.now();
    const { advanced, nextMs, ended } = await this.#ask();
    const tookMs = performance.now() - began;
    for (const operation of ended) onEnded?.(operation);
    if (nextMs !== null) this.#dueAt = Math.min(this.#dueAt, performance.now() + nextMs);
    // No operation is left: reset, in case no other worker advances the next one.
    this.#spared = advanced > 0 || !this.isNeeded ? 0 : this.#spared + 1;
    this.#spareUntil =
      this.#spared > 0
        ? performance.now() + Math.min(SPARE.maxMs, SPARE.baseMs * 2 ** (this.#spared - 1))
        : 0;
    // Batches without a rate leave half of the time to other statements.
    if (advanced > 0 && nextMs !== null) await this.#wakeup.wait(tookMs, stop);
  }

  /** Keep what is learned while the answer is in flight: the answer may not include it. */
  async #ask(): Promise<Advanced> {
    const dueAt = this.#dueAt;
    this.#dueAt = Number.POSITIVE_INFINITY;
    try {
      return await advanceOperations(this.#options.db);
    } catch (error) {
      this.#dueAt = dueAt;
      throw error;
    }
  }
}
