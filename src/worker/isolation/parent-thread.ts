import { workerData } from 'node:worker_threads';

/*
 * The entry of the second thread of a handler's process; see end-with-parent.ts. A process whose parent has ended gets
 * another parent.
 */

const LOOK_MS = 500;

const parent = workerData as number;

setInterval(() => {
  if (process.ppid !== parent) end();
}, LOOK_MS);

function end(): void {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } finally {
    // It leads no group if something other than a worker started it.
    process.kill(process.pid, 'SIGKILL');
  }
}
