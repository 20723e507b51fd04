import { Worker } from 'node:worker_threads';
import type { LeaseTable } from '../lease/lease-table.ts';
import type { FromHeartbeat, HeartbeatSetup, ToHeartbeat } from './heartbeat-messages.ts';

/** The heartbeat thread, as the main thread sees it. */
export interface Heartbeats {
  /** Send our claim cursors, from which workers that start later may begin. */
  sendCursors(cursors: unknown): void;
  /** Send how many leases were lost since the start. */
  sendLost(leases: number): void;
  /** Send a heartbeat now that shows the worker as stopping, as do all later ones. */
  sendDraining(): void;
  /** Tasks are now leased for `leaseMs`, and no statement in flight leases them for the previous length. */
  leaseSwitched(leaseMs: number): void;
  /** End the thread after its current heartbeat. */
  stop(): Promise<void>;
}

export type HeartbeatSettings = Omit<HeartbeatSetup, 'leases'>;

/** How often the main thread shows that it answers. */
const PULSE_MS = 250;

/**
 * Start the thread that renews this process's leases and listens. `onMessage` receives its messages. `onDeath` is
 * called if the thread ends unasked: a worker must not go on without heartbeats.
 */
export function startHeartbeats(
  settings: HeartbeatSettings,
  table: LeaseTable,
  onMessage: (message: FromHeartbeat) => void,
  onDeath: (why: string) => void,
): Heartbeats {
  const workerData: HeartbeatSetup = { ...settings, leases: table.shared };
  const thread = new Worker(new URL('./heartbeat-thread.js', import.meta.url), {
    workerData,
    // The options with which an application was started (--import, --input-type) are not for this thread.
    execArgv: [],
    // It keeps little: a larger young generation would cost memory in every process.
    resourceLimits: { maxYoungGenerationSizeMb: 2 },
  });
  const send = (message: ToHeartbeat) => thread.postMessage(message);
  table.beat();
  const pulse = setInterval(() => table.beat(), PULSE_MS);
  let stopping = false;
  const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()));
  thread.on('message', onMessage);
  thread.on('error', (error) => onDeath(error.message));
  thread.on('exit', (code) => {
    clearInterval(pulse);
    if (!stopping) onDeath(`the thread ended with ${code}`);
  });
  return {
    sendCursors: (cursors) => send({ kind: 'cursors', cursors }),
    sendLost: (leases) => send({ kind: 'leasesLost', leases }),
    sendDraining: () => send({ kind: 'draining' }),
    leaseSwitched: (leaseMs) => send({ kind: 'leaseSwitched', leaseMs }),
    async stop() {
      stopping = true;
      send({ kind: 'stop' });
      const timer = setTimeout(() => void thread.terminate(), 2000);
      await ended;
      clearTimeout(timer);
    },
  };
}
