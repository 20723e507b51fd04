import { setTimeout as sleep } from 'node:timers/promises';
import { heartbeat } from '../../queue/protocol/heartbeat.ts';
import type { StartedTask } from '../lease/held-task.ts';
import type { RegisteredWorker } from '../lease/registered-worker.ts';

/**
 * Mark a task as running in the database, by a heartbeat that names it as started. Asks until the database answers
 * whether it is ours (false: not any more), or until the attempt is to end. `onTrouble`: it did not answer, or refused.
 */
export async function markRunning(
  { db, workerId, lease }: RegisteredWorker,
  { id, leaseNo, attempt }: StartedTask,
  onTrouble: (error: unknown) => void,
): Promise<boolean> {
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
