import { type Lease, leaseKey } from '../../domain/task.ts';
import { type Attempt, currentAttempt } from '../attempt/attempt.ts';

/** Where the main thread publishes the lease of its running code, for another thread to read. */
export const CURRENT_LEASE = Symbol.for('taskq.currentLease');

/** Publish the lease of the running code, which another thread reads through the debugger: see inspectMainThread. */
export function showCurrentLease(leaseOf: (attempt: Attempt) => Lease | undefined): void {
  const shown: Record<symbol, unknown> = globalThis as never;
  shown[CURRENT_LEASE] = () => {
    const attempt = currentAttempt.getStore();
    const lease = attempt && leaseOf(attempt);
    return lease === undefined ? null : leaseKey(lease);
  };
}
