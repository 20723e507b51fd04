import { pause } from '../../lib/pause.ts';
import { heartbeat } from '../../queue/protocol/heartbeat.ts';
import type { StartedTask } from '../lease/held-task.ts';
import type { RegisteredWorker } from '../lease/registered-worker.ts';

export interface MarkingHooks {
  /** The database refuses to mark this task. */
  readonly onRefused: (refusal: string) => void;
  /** The database did not answer, or refused the statement. */
  readonly onStatementFailed: (error: unknown) => void;
}

/**
 * Mark a task as running in the database, with a heartbeat that names it as started. Repeats until the database answers
 * or the attempt must end. Returns false if another worker has the lease.
 */
export async function markRunning(
  { db, workerId, lease }: RegisteredWorker,
  { id, leaseNo, attempt }: StartedTask,
  { onRefused, onStatementFailed }: MarkingHooks,
): Promise<boolean> {
  const held = [{ id, leaseNo, startedMs: 0 }];
  for (let waitMs = 10; attempt.aborted === undefined; waitMs = Math.min(2 * waitMs, 1000)) {
    try {
      const { answers } = await lease.during((leaseMs) =>
        heartbeat(db, { workerId, held, lease: { leaseMs } }),
      );
      const { answer, refusal = null } = answers[0] ?? {};
      if (refusal !== null) onRefused(refusal);
      // Busy: another transaction has the row locked, perhaps our own heartbeat thread, which marks it too.
      if (answer !== 'busy') return answer === 'renewed';
    } catch (error) {
      onStatementFailed(error);
    }
    await pause(waitMs, attempt.signal);
  }
  return true;
}
