import type { Quiet } from '../queue/rescue.ts';

interface Watched {
  readonly beatUs: number;
  readonly leaseMs: number;
  readonly since: number;
}

/**
 * Remembers for how long other workers have stood at the same heartbeat, by a clock that makes no steps: what the
 * database's clock says of a silence may come from a step, or from an outage that kept everybody from a heartbeat.
 */
export class SilenceWatch {
  #watched = new Map<string, Watched>();

  /** Take in what a look at the workers has shown. */
  looked(quiet: readonly Quiet[], now: number): void {
    this.#watched = new Map(
      quiet.map(({ workerId, beatUs, leaseMs }) => {
        const before = this.#watched.get(workerId);
        return [workerId, { beatUs, leaseMs, since: before?.beatUs === beatUs ? before.since : now }];
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
   * how long our own heartbeats have succeeded.
   */
  silent(now: number, steadyMs: number): Record<string, number> {
    const isSilent = ({ leaseMs, since }: Watched) =>
      now - since >= leaseMs / 2 && steadyMs >= (2 * leaseMs) / 3;
    return Object.fromEntries(
      [...this.#watched].filter(([, one]) => isSilent(one)).map(([id, { beatUs }]) => [id, beatUs]),
    );
  }
}
