import { backingOffMs, RECONNECTING } from '../../lib/backing-off.ts';
import { type Listener, openListener } from '../../lib/listener.ts';
import { describeDatabaseError } from '../../lib/server-trouble.ts';
import type { Wakeup } from '../../lib/wakeup.ts';
import { wakeHintOf } from '../../queue/protocol/wake-hint.ts';
import type { FromHeartbeat, HeartbeatSetup } from './heartbeat-messages.ts';
import type { Beat, LeaseRenewal } from './lease-renewal.ts';

export interface BeatLoop {
  readonly setup: HeartbeatSetup;
  /** Triggered when a heartbeat is due at once. */
  readonly wakeup: Wakeup;
  readonly send: (message: FromHeartbeat) => void;
  readonly renewal: LeaseRenewal;
  /** The main thread stays blocked: its leases are no longer renewed, so that other workers can take the tasks. */
  readonly isLetGo: () => boolean;
}

/** The first wait before a lease that was locked, or a heartbeat that was refused, is tried again. */
const FIRST_RETRY_MS = 50;
/** The longest wait before a locked lease is tried again: it must not keep the others from being renewed. */
const MOST_RETRY_MS = 1000;

/** Send heartbeats and listen until the worker stops, on one connection after the other. */
export async function beatUntilStopped(stop: AbortSignal, loop: BeatLoop): Promise<void> {
  const { setup, wakeup, send, renewal } = loop;
  for (let failures = 0; !stop.aborted; ) {
    try {
      await serve(stop, loop, () => {
        failures = 0;
      });
    } catch (error) {
      failures += 1;
      send({ kind: 'disconnected', why: describeDatabaseError(error, setup.databaseUrl) });
      // Reconnect within a heartbeat: after an outage, others treat this worker as silent once their own heartbeats have
      // succeeded for two thirds of a lease.
      const bounds = { ...RECONNECTING, maxMs: Math.min(RECONNECTING.maxMs, renewal.heartbeatMs) };
      await wakeup.wait(backingOffMs(failures, Math.random(), bounds), stop);
    }
  }
}

/** Serve one connection until it breaks (throws) or the worker stops (returns). */
async function serve(stop: AbortSignal, loop: BeatLoop, onAnswer: () => void): Promise<void> {
  const { wakeup, send, renewal, isLetGo } = loop;
  const listener = await open(loop);
  try {
    let broken: { why: unknown } | undefined;
    const breaks = (why: unknown) => {
      broken ??= { why };
      wakeup.trigger();
    };
    listener.broken.catch(breaks);
    // Do not wait for this: first renew the held leases.
    listener.receivesNotifications.then((listening) => {
      send({ kind: 'connected', listening });
      wakeup.trigger(); // fetch orders that were sent before we listened
    }, breaks);
    for (let retryMs = FIRST_RETRY_MS / 2; !stop.aborted; ) {
      const answer: Beat = isLetGo() ? { kind: 'renewed' } : await renewal.beat(listener);
      onAnswer();
      if (!isLetGo()) send(answer.kind === 'refused' ? answer : { kind: 'answered' });
      const usualMs = renewal.heartbeatMs * (0.9 + 0.1 * Math.random());
      retryMs = nextRetryMs(answer, retryMs, usualMs);
      await wakeup.wait(answer.kind === 'renewed' ? usualMs : Math.min(retryMs, usualMs), stop);
      if (broken !== undefined) throw broken.why;
    }
  } finally {
    await listener.close();
  }
}

function open({ setup, wakeup, send, renewal }: BeatLoop): Promise<Listener> {
  return openListener({
    connection: setup.databaseUrl,
    synchronousCommit: setup.synchronousCommit,
    access: 'write',
    applicationName: `taskq worker ${setup.workerId} heartbeat`,
    channels: ['taskq_wake', 'taskq_cancel', 'taskq_orders'],
    onNotification(channel, payload) {
      if (channel === 'taskq_wake') {
        const hint = wakeHintOf(payload);
        if (hint !== undefined) send({ kind: 'wake', ...hint });
        return;
      }
      // An empty payload: the orders are for all workers.
      const isForAll = channel === 'taskq_orders' && payload === '';
      if (isForAll || payload === String(setup.workerId)) wakeup.trigger();
    },
    deadlineMs: renewal.deadlineMs,
  });
}

/** Double the wait for a retry, up to a second for a locked lease, up to the usual interval after a refusal. */
function nextRetryMs({ kind }: Beat, retryMs: number, usualMs: number): number {
  if (kind === 'renewed') return FIRST_RETRY_MS / 2;
  return Math.min(2 * retryMs, kind === 'busy' ? MOST_RETRY_MS : usualMs);
}
