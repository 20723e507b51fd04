import type { BreakerLimit } from '../../queue/protocol/claim-context.ts';

/** A type is stopped at most this often: while the breaker cannot be opened, its tasks would only go to and fro. */
const PAUSE_MS = 1000;

interface Failures {
  /** The last ones (`performance.now()`), at most as many as open the breaker. */
  readonly times: readonly number[];
  /** When there last were too many. */
  readonly stoppedAt: number;
}

/**
 * Counts the failures of this worker by type. The database opens a breaker with the next claim; tasks claimed ahead
 * would fail until then.
 */
export class OwnFailures {
  readonly #byType = new Map<string, Failures>();

  /**
   * An attempt has failed. Returns whether the type has failed here as often as its breaker allows, since it last did.
   */
  failed(type: string, { failures, within_ms }: BreakerLimit, now: number): boolean {
    const before = this.#byType.get(type) ?? { times: [], stoppedAt: Number.NEGATIVE_INFINITY };
    const times = [...before.times, now].slice(-failures);
    const isTooOften = times.length === failures && now - times[0]! <= within_ms;
    const stops = isTooOften && now - before.stoppedAt >= PAUSE_MS;
    this.#byType.set(type, stops ? { times: [], stoppedAt: now } : { ...before, times });
    return stops;
  }

  /** The breaker of the type has closed: count anew. */
  forget(type: string): void {
    this.#byType.delete(type);
  }
}
