import { type Lease, leaseKey } from '../../domain/task.ts';
import { type Attempt, currentAttempt } from '../attempt/attempt.ts';

/** Where the main thread shows to another one which lease its running code belongs to. */
export const CURRENT_LEASE = Symbol.for('taskq.currentLease');

/** Show another thread, by way of the debugger, whose code runs: see inspectMainThread. */
export function showCurrentLease(leaseOf: (attempt: Attempt) => Lease | undefined): void {
  const shown: Record<symbol, unknown> = globalThis as never;
  shown[CURRENT_LEASE] = () => {
    const attempt = currentAttempt.getStore();
    const lease = attempt && leaseOf(attempt);
    return lease === undefined ? null : leaseKey(lease);
  };
}
