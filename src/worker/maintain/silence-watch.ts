import type { Quiet, Watching } from '../../queue/protocol/rescue.ts';

interface Watched extends Quiet {
  readonly since: number;
}

/**
 * Measures how long other workers have stayed at the same heartbeat, by a clock that makes no steps. A silence by the
 * database's clock may come from a step of that clock, or from an outage that kept every worker from its heartbeat.
 * Time recorded by earlier watchers of the same silence counts as well: they recorded it before our own watch began.
 */
export class SilenceWatch {
  #watched = new Map<string, Watched>();

  get isEmpty(): boolean {
    return this.#watched.size === 0;
  }

  /** Record what a check of the workers has shown. */
  looked(quiet: readonly Quiet[], now: number): void {
    this.#watched = new Map(
      quiet.map((one) => {
        const before = this.#watched.get(one.workerId);
        const isSame = before?.beatUs === one.beatUs;
        // Time that others have added since overlaps with our own.
        const { since, watchedMs } = isSame ? before : { since: now, watchedMs: one.watchedMs };
        return [one.workerId, { ...one, since, watchedMs }];
      }),
    );
  }

  /** Forget everything: a check failed, so what happened meanwhile is unknown. */
  forget(): void {
    this.#watched.clear();
  }

  /**
   * The silent workers, each with its last heartbeat. We must have seen the worker at that heartbeat for half a lease
   * (a live one sends one every third), with our own heartbeats succeeding (`steadyMs`) for two thirds of a lease:
   * after an interruption, others need time to come back as well.
   *
   * Several watchers that each lived less than that need a whole lease together: a third of it may have passed before
   * an outage that none of them noticed.
   */
  silent(now: number, steadyMs: number): Record<string, number> {
    const isSilent = (one: Watched) =>
      (now - one.since >= one.leaseMs / 2 && steadyMs >= (2 * one.leaseMs) / 3) ||
      watchedMs(one, now, steadyMs) >= one.leaseMs;
    return Object.fromEntries(
      [...this.#watched].filter(([, one]) => isSilent(one)).map(([id, { beatUs }]) => [id, beatUs]),
    );
  }

  /** What later watchers need about the late workers: how long each has been watched by now. */
  watching(now: number, steadyMs: number): Record<string, Watching> {
    return Object.fromEntries(
      [...this.#watched]
        .filter(([, one]) => one.isLate)
        .map(([id, one]) => [
          id,
          { beat_us: one.beatUs, watched_ms: Math.floor(watchedMs(one, now, steadyMs)) },
        ]),
    );
  }
}

/** Watched by us and by earlier watchers, in milliseconds. */
function watchedMs({ since, watchedMs }: Watched, now: number, steadyMs: number): number {
  return watchedMs + Math.min(now - since, steadyMs);
}
