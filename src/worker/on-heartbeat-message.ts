import { applyOrders } from './apply-orders.ts';
import type { ConnectionState } from './connection-state.ts';
import type { FromHeartbeat } from './heartbeat/heartbeat-messages.ts';
import type { Heartbeats } from './heartbeat/heartbeats.ts';
import type { WorkerState } from './worker-state.ts';

/** Acts on what the thread of the heartbeats reports. */
export function onHeartbeatMessage(
  message: FromHeartbeat,
  state: WorkerState,
  db: ConnectionState,
  heartbeats: Heartbeats,
): void {
  switch (message.kind) {
    case 'lost':
      state.executor.lose(message.lease);
      break;
    case 'cancel':
      state.executor.cancel(message.lease, message.reason);
      break;
    case 'unrenewed':
      state.onRefusedRenewal(message.lease, message.refusal);
      break;
    case 'orders':
      applyOrders(state, message.orders);
      break;
    case 'forgotten':
      state.isForgotten = true;
      break;
    case 'schedules':
      state.scheduler.learn(message.upcoming, message.readAt);
      break;
    case 'operations':
      state.advancer.learn(message.nextMs);
      break;
    case 'lease':
      void state.lease
        .change(message.leaseMs, message.heartbeatMs)
        .then(() => heartbeats.leaseSwitched(message.leaseMs));
      break;
    case 'leaseSettled':
      state.events.event('lease.changed', { lease_ms: message.leaseMs });
      break;
    case 'wake':
      state.wake(message.queue, message.fromUs);
      break;
    case 'connected':
      state.heartbeat.connected(message.listening);
      state.workArrived.trigger(); // earlier hints did not arrive here
      state.slotFreed.trigger();
      break;
    case 'disconnected':
      state.heartbeat.disconnected();
      db.failed('heartbeats', message.why);
      break;
    case 'answered':
      state.heartbeat.answered();
      db.answered('heartbeats', performance.now());
      break;
    case 'refused':
      db.refused();
      state.events.event('statement.failed', { error: { message: message.why } });
      state.schemaChanged.trigger();
      break;
    default:
      message satisfies never;
  }
}
