import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../lib/database.ts';
import { heartbeat } from '../queue/heartbeat.ts';
import type { Attempt } from './attempt.ts';
import type { LeaseLength } from './lease-length.ts';

export interface MarkRunningOptions {
  readonly workerId: number;
  readonly lease: LeaseLength;
  /** The database did not answer, or refused. */
  readonly onTrouble: (error: unknown) => void;
}

/**
 * Say `running` of an attempt's task in the database, by a heartbeat that names it as started. Asks until the database
 * says whether it is ours (false: not any more), or until the attempt is to end.
 */
export async function markRunning(
  db: Queryable,
  attempt: Attempt,
  { workerId, lease, onTrouble }: MarkRunningOptions,
): Promise<boolean> {
  const { id, leaseNo } = attempt.held.task;
  const held = [{ id, leaseNo, startedMs: 0 }];
  for (let waitMs = 10; attempt.aborted === undefined; waitMs = Math.min(2 * waitMs, 1000)) {
    try {
      const { answers } = await lease.during((leaseMs) => heartbeat(db, { workerId, leaseMs, held }));
      const answer = answers[0]?.answer;
      // Busy: somebody has its row locked; for a moment that may be our own other thread, which marks it, too.
      if (answer !== 'busy') return answer === 'renewed';
    } catch (error) {
      onTrouble(error);
    }
    await sleep(waitMs, undefined, { signal: attempt.signal }).catch(() => {});
  }
  return true;
}
