import { Worker } from 'node:worker_threads';
import type { LeaseTable } from '../lease/lease-table.ts';
import type { FromHeartbeat, HeartbeatSetup, ToHeartbeat } from './heartbeat-messages.ts';

/** The heartbeat thread, seen from the main thread. */
export interface Heartbeats {
  /** Say where our claims are, for workers that start later. */
  tellCursors(cursors: unknown): void;
  /** Beat now. */
  beat(): void;
  /** Say that tasks are leased for so long, and nothing is under way that leases them for as long as before. */
  leaseTaken(leaseMs: number): void;
  /** End the thread after what it does. */
  stop(): Promise<void>;
}

/** How often the main thread shows that it answers. */
const PULSE_MS = 250;

/**
 * Start the thread that renews this process's leases and listens. `onMessage` is told what it learns; `onDeath` is
 * called when the thread ends unasked: without heartbeats a worker must not go on.
 */
export function startHeartbeats(
  setup: Omit<HeartbeatSetup, 'leases'>,
  table: LeaseTable,
  onMessage: (message: FromHeartbeat) => void,
  onDeath: (why: string) => void,
): Heartbeats {
  const workerData: HeartbeatSetup = { ...setup, leases: table.shared };
  const thread = new Worker(new URL('./heartbeat-thread.js', import.meta.url), {
    workerData,
    // What an application is started with (--import, --input-type) is not for this thread.
    execArgv: [],
    // It keeps little: room for more garbage is memory that every process pays for.
    resourceLimits: { maxYoungGenerationSizeMb: 2 },
  });
  const tell = (message: ToHeartbeat) => thread.postMessage(message);
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
    tellCursors: (cursors) => tell({ kind: 'cursors', cursors }),
    beat: () => tell({ kind: 'beat' }),
    leaseTaken: (leaseMs) => tell({ kind: 'leaseTaken', leaseMs }),
    async stop() {
      stopping = true;
      tell({ kind: 'stop' });
      const timer = setTimeout(() => void thread.terminate(), 2000);
      await ended;
      clearTimeout(timer);
    },
  };
}
