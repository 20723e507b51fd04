import { isDeepStrictEqual } from 'node:util';
import type { OpenBreaker, Orders } from '../queue/protocol/orders.ts';
import type { EventLog } from './log/events.ts';
import type { WorkerState } from './worker-state.ts';

/** Apply the operators' orders to this worker, if they have changed. */
export function applyOrders(state: WorkerState, orders: Orders): void {
  const before = state.orders;
  if (isDeepStrictEqual(orders, before)) return;
  state.orders = orders;
  if (!isDeepStrictEqual(orders.followed, before.followed)) {
    state.reporter.notes.follow(orders.followed, state.ledger.started());
    if (isDeepStrictEqual({ ...orders, followed: before.followed }, before)) return;
  }
  logChanges(state.events, before, orders);
  const closed = closedBreakers(before, orders);
  for (const { type } of closed) state.ownFailures.forget(type);
  // The claims of all workers have passed the tasks of these types.
  if (closed.length > 0) state.cursor.reset();
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
    const inForce = {
      concurrency,
      poll_ms: pollMs,
      lease_ms: leaseMs,
      batch,
      queues: queues ?? 'all',
    } as const;
    events.event('worker.changed', inForce);
  }
  for (const paused of added(servedPaused(before), servedPaused(now), 'queue'))
    events.event('queue.paused', { ...paused });
  for (const { queue } of added(now.pausedQueues, servedPaused(before), 'queue'))
    events.event('queue.resumed', { queue });
  for (const { type, failures, within_ms, probe_after_ms = 30_000 } of added(
    before.openBreakers,
    now.openBreakers,
    'type',
  ))
    events.event('breaker.opened', { type, failures, within_ms, probe_after_ms });
  for (const { type } of closedBreakers(before, now)) events.event('breaker.closed', { type });
}

/** The paused ones among the queues that the worker serves. */
function servedPaused({ queues, pausedQueues }: Orders): Orders['pausedQueues'] {
  return queues === null ? pausedQueues : pausedQueues.filter(({ queue }) => queues.includes(queue));
}

function closedBreakers(before: Orders, now: Orders): OpenBreaker[] {
  return added(now.openBreakers, before.openBreakers, 'type');
}

/** What `now` lists and `before` does not, by name. */
function added<Name extends string, One extends Readonly<Record<Name, string>>>(
  before: readonly One[],
  now: readonly One[],
  name: Name,
): One[] {
  return now.filter((one) => !before.some((other) => other[name] === one[name]));
}
