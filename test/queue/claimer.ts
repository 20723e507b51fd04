import type { ClaimedTask } from '../../src/domain/task.ts';
import { claim } from '../../src/queue/protocol/claim.ts';
import { findMissed } from '../../src/queue/protocol/find-missed.ts';
import { ClaimCursor } from '../../src/worker/claim/claim-cursor.ts';
import type { Session } from './session.ts';
import { LEASE_MS, type PlainWorker } from './worker.ts';

/** What a worker's claims do, one step at a time, by a clock that the test moves. */
export interface Claimer {
  readonly cursor: ClaimCursor;
  /** So much later, in milliseconds. */
  pass(ms: number): void;
  /** Sweeps if a sweep is due. Undefined: none is; else how many levels claims have to go back in. */
  sweep(): Promise<number | undefined>;
  /** Claims into this many free slots. */
  claim(start: number): Promise<ClaimedTask[]>;
}

export interface ClaimerOptions {
  readonly queues?: readonly string[];
  readonly types?: readonly string[];
  /** What everything is said to cost, in milliseconds: where it is much, sweeps are made beside the claims. */
  readonly costMs?: number;
}

export function claimerOf(session: Session, worker: PlainWorker, options: ClaimerOptions = {}): Claimer {
  const { queues = ['default'], types = ['work'], costMs = 1 } = options;
  const cursor = new ClaimCursor();
  let now = 0;
  return {
    cursor,
    pass: (ms) => {
      now += ms;
    },
    async sweep() {
      const sweep = cursor.nextSweep(now, queues);
      if (sweep === undefined) return undefined;
      const missed = await findMissed(session, { ...sweep, types });
      cursor.sweptBeside(sweep, missed, costMs, now);
      return missed.first.length;
    },
    async claim(start) {
      const look = cursor.next(now, queues);
      const claimed = await claim(session, {
        worker: { id: worker.id, types, leaseMs: LEASE_MS },
        queues: cursor.inTurn(queues),
        room: { start, ahead: 0 },
        from: look,
      });
      cursor.claimed({ ...claimed, look, short: claimed.tasks.length < start, costMs }, now);
      return claimed.tasks;
    },
  };
}
