import type { BreakerLimit } from '../../queue/protocol/claim-context.ts';

/**
 * Counts the failures of this worker by type. The database opens a breaker with the next claim; tasks claimed ahead
 * would fail until then.
 */
export class OwnFailures {
  /** The last ones (`performance.now()`), at most as many as open the breaker. */
  readonly #times = new Map<string, readonly number[]>();

  /** An attempt has failed. Returns whether the type has failed here as often as its breaker allows. */
  failed(type: string, { failures, within_ms }: BreakerLimit, now: number): boolean {
    const times = [...(this.#times.get(type) ?? []), now].slice(-failures);
    this.#times.set(type, times);
    return times.length === failures && now - times[0]! <= within_ms;
  }

  /** The breaker of the type has closed: count anew. */
  forget(type: string): void {
    this.#times.delete(type);
  }
}
