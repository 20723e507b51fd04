import { isDeepStrictEqual } from 'node:util';
import type { Orders, PausedQueue } from '../queue/protocol/orders.ts';
import type { EventLog } from './log/events.ts';
import type { WorkerState } from './worker-state.ts';

/** Apply the operators' orders to this worker, if they have changed. */
export function applyOrders(state: WorkerState, orders: Orders): void {
  const before = state.orders;
  if (isDeepStrictEqual(orders, before)) return;
  state.orders = orders;
  logChanges(state.options.events, before, orders);
  if (orders.stop) state.shutdown.finish();
  state.releaseUnserved();
  state.executor.fill();
  state.slotFreed.trigger();
  state.workArrived.trigger();
}

function logChanges(events: EventLog, before: Orders, now: Orders): void {
  if (now.paused && !before.paused) events.event('worker.paused', { by: now.pausedBy });
  if (before.paused && !now.paused) events.event('worker.resumed');
  const changed = (['concurrency', 'pollMs', 'leaseMs', 'batch', 'queues'] as const).filter(
    (key) => !isDeepStrictEqual(now[key], before[key]),
  );
  if (changed.length > 0) {
    const { concurrency, pollMs, leaseMs, batch, queues } = now;
    events.event('worker.changed', {
      ...{ concurrency, poll_ms: pollMs, lease_ms: leaseMs, batch, queues: queues ?? 'all' },
    });
  }
  for (const paused of missingIn(before.pausedQueues, now.pausedQueues))
    events.event('queue.paused', { ...paused });
  for (const { queue } of missingIn(now.pausedQueues, before.pausedQueues))
    events.event('queue.resumed', { queue });
}

/** The queues of `these` that `others` lacks. */
function missingIn(others: readonly PausedQueue[], these: readonly PausedQueue[]): PausedQueue[] {
  return these.filter(({ queue }) => !others.some((other) => other.queue === queue));
}
