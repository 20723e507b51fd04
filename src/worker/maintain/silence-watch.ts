import type { Quiet, Watching } from '../../queue/protocol/rescue.ts';

interface Watched extends Quiet {
  readonly since: number;
}

/**
 * Remembers for how long other workers have stood at the same heartbeat, by a clock that makes no steps: what the
 * database's clock says of a silence may come from a step, or from an outage that kept everybody from a heartbeat.
 * What earlier watchers have seen of the same silence counts as well: they wrote it down before our own watch began.
 */
export class SilenceWatch {
  #watched = new Map<string, Watched>();

  get isEmpty(): boolean {
    return this.#watched.size === 0;
  }

  /** Take in what a look at the workers has shown. */
  looked(quiet: readonly Quiet[], now: number): void {
    this.#watched = new Map(
      quiet.map((one) => {
        const before = this.#watched.get(one.workerId);
        const isSame = before?.beatUs === one.beatUs;
        // What others have added since is of the same time as our own.
        const { since, watchedMs } = isSame ? before : { since: now, watchedMs: one.watchedMs };
        return [one.workerId, { ...one, since, watchedMs }];
      }),
    );
  }

  /** A look failed: what happened meanwhile is not known. */
  forget(): void {
    this.#watched.clear();
  }

  /**
   * Those that are silent, each with its last heartbeat: seen at it for half a lease (a live one has a heartbeat every
   * third), and for two thirds of one after an interruption, which they have to come back from as well. `steadyMs`: for
   * how long our own heartbeats have succeeded. Watchers of whom none lived so long need a whole lease together: a third
   * may have passed before an outage that none of them knows of.
   */
  silent(now: number, steadyMs: number): Record<string, number> {
    const isSilent = (one: Watched) =>
      (now - one.since >= one.leaseMs / 2 && steadyMs >= (2 * one.leaseMs) / 3) ||
      watchedMs(one, now, steadyMs) >= one.leaseMs;
    return Object.fromEntries(
      [...this.#watched].filter(([, one]) => isSilent(one)).map(([id, { beatUs }]) => [id, beatUs]),
    );
  }

  /** What later watchers are to know of those that live workers are not like: for how long each was watched by now. */
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

/** By us, and by those before us. */
function watchedMs({ since, watchedMs }: Watched, now: number, steadyMs: number): number {
  return watchedMs + Math.min(now - since, steadyMs);
}
