import { parentPort, workerData } from 'node:worker_threads';
import { backingOffMs } from '../lib/backing-off.ts';
import { Bell } from '../lib/bell.ts';
import { type Listener, openListener } from '../lib/listener.ts';
import { type HeartbeatAnswer, heartbeat } from '../queue/heartbeat.ts';
import type { FromHeartbeat, HeartbeatSetup, ToHeartbeat } from './heartbeat-messages.ts';
import { LeaseTable, wallClock } from './lease-table.ts';
import { watch } from './watchdog.ts';

/*
 * The entry of a worker's second thread. It renews the leases and listens, on a connection of its own, also while a
 * handler keeps the main thread busy; and it ends the process when the main thread does not come back.
 */

const setup = workerData as HeartbeatSetup;
const port = parentPort!;
const table = new LeaseTable(setup.leases);
const stop = new AbortController();
const bell = new Bell();
let cursors: unknown;

port.on('message', (message: ToHeartbeat) => {
  if (message.kind === 'cursors') cursors = message.cursors;
  else if (message.kind === 'beat') bell.ring();
  else stop.abort();
});

const watching = setInterval(() => void watch(table, setup), 500);
for (let failures = 0; !stop.signal.aborted; ) {
  try {
    await serve(() => {
      failures = 0;
    });
  } catch (error) {
    failures += 1;
    tell({ kind: 'disconnected', why: error instanceof Error ? error.message : String(error) });
    await bell.wait(backingOffMs(failures, Math.random()), stop.signal);
  }
}
clearInterval(watching);
port.close();

/** Serve one connection until it breaks (throws) or the worker stops (returns). */
async function serve(onAnswer: () => void): Promise<void> {
  const listener = await openListener({
    databaseUrl: setup.databaseUrl,
    applicationName: `taskq worker ${setup.workerId} heartbeat`,
    channels: ['taskq_wake', 'taskq_cancel'],
    onNotification: hear,
    deadlineMs: Math.min(5000, setup.leaseMs / 3),
  });
  try {
    tell({ kind: 'connected', listening: listener.hears });
    let broken: { why: unknown } | undefined;
    listener.broken.catch((why: unknown) => {
      broken = { why };
      bell.ring();
    });
    for (let busyMs = 25; !stop.signal.aborted; ) {
      const isBusy = await beat(listener);
      onAnswer();
      tell({ kind: 'beaten' });
      busyMs = isBusy ? Math.min(2 * busyMs, 1000) : 25;
      const usualMs = setup.heartbeatMs * (0.9 + 0.1 * Math.random());
      await bell.wait(isBusy ? Math.min(busyMs, usualMs) : usualMs, stop.signal);
      if (broken !== undefined) throw broken.why;
    }
  } finally {
    await listener.close();
  }
}

/**
 * Name every lease. True: another transaction has one of them locked. Then all are named again after 50 ms, doubling
 * to 1 s: one that is locked for minutes must not keep the others from being renewed.
 */
async function beat(listener: Listener): Promise<boolean> {
  const answers = await heartbeat(listener, {
    workerId: setup.workerId,
    leaseMs: setup.leaseMs,
    held: table.rows().map(({ id, leaseNo, startedAt }) => ({
      id,
      leaseNo,
      startedMs: startedAt === 0 ? null : Math.max(0, Math.round(wallClock() - startedAt)),
    })),
    cursors,
  });
  for (const answer of answers) act(answer);
  return answers.some(({ answer }) => answer === 'busy');
}

function act({ id, leaseNo, answer, cancelRequested, cancelReason }: HeartbeatAnswer): void {
  if (answer === 'lost') tell({ kind: 'lost', id, leaseNo });
  else if (cancelRequested) tell({ kind: 'cancel', id, leaseNo, reason: cancelReason });
}

function hear(channel: string, payload: string): void {
  if (channel === 'taskq_cancel') {
    if (payload === String(setup.workerId)) bell.ring();
    return;
  }
  const hint = hintOf(payload);
  if (hint !== undefined) tell({ kind: 'wake', ...hint });
}

/** Undefined: it is none of ours. Anyone who may connect may notify. */
function hintOf(payload: string): { queue: string; fromUs: number } | undefined {
  try {
    const { queue, from_us: fromUs } = JSON.parse(payload) as Record<string, unknown>;
    return typeof queue === 'string' && typeof fromUs === 'number' ? { queue, fromUs } : undefined;
  } catch {
    return undefined;
  }
}

function tell(message: FromHeartbeat): void {
  port.postMessage(message);
}
