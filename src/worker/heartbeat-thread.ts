import { parentPort, workerData } from 'node:worker_threads';
import { backingOffMs } from '../lib/backing-off.ts';
import { Bell } from '../lib/bell.ts';
import { type Listener, openListener } from '../lib/listener.ts';
import { type HeartbeatAnswer, heartbeat } from '../queue/heartbeat.ts';
import type { FromHeartbeat, HeartbeatSetup, ToHeartbeat } from './heartbeat-messages.ts';
import { LeaseTable, type TableRow, wallClock } from './lease-table.ts';
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
    while (!stop.signal.aborted) {
      await beat(listener);
      onAnswer();
      tell({ kind: 'beaten' });
      const waited = bell.wait(setup.heartbeatMs * (0.9 + 0.1 * Math.random()), stop.signal);
      await Promise.race([waited, listener.broken]);
    }
  } finally {
    await listener.close();
  }
}

/** Name every lease; what another transaction has locked is asked for again, after 50 ms, doubling to 1 s. */
async function beat(listener: Listener): Promise<void> {
  let rows = table.rows();
  for (let pauseMs = 50; ; pauseMs = Math.min(2 * pauseMs, 1000)) {
    const answers = await heartbeat(listener, {
      workerId: setup.workerId,
      leaseMs: setup.leaseMs,
      held: rows.map(({ id, leaseNo, startedAt }) => ({
        id,
        leaseNo,
        startedMs: startedAt === 0 ? null : Math.max(0, Math.round(wallClock() - startedAt)),
      })),
      cursors,
    });
    for (const answer of answers) act(answer);
    const busy = new Set(answers.filter(({ answer }) => answer === 'busy').map(({ id }) => id));
    if (busy.size === 0 || stop.signal.aborted) return;
    await bell.wait(pauseMs, stop.signal);
    rows = table.rows().filter((row: TableRow) => busy.has(row.id));
  }
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
  const { queue, from_us: fromUs } = JSON.parse(payload) as { queue: string; from_us: number };
  tell({ kind: 'wake', queue, fromUs });
}

function tell(message: FromHeartbeat): void {
  port.postMessage(message);
}
