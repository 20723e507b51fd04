import { parentPort, workerData } from 'node:worker_threads';
import { Wakeup } from '../../lib/wakeup.ts';
import { LeaseTable } from '../lease/lease-table.ts';
import { Watchdog } from '../watchdog/watchdog.ts';
import { beatUntilStopped } from './beat-loop.ts';
import type { FromHeartbeat, HeartbeatSetup, ToHeartbeat } from './heartbeat-messages.ts';
import { LeaseRenewal } from './lease-renewal.ts';

/*
 * The entry of a worker's second thread. It renews the leases and listens, on a connection of its own, even while a
 * handler blocks the main thread; and it ends the process if the main thread stays blocked.
 */

/** How often to check whether the main thread answers. */
const WATCH_MS = 500;

const setup = workerData as HeartbeatSetup;
const port = parentPort!;
const table = new LeaseTable(setup.leases);
const stop = new AbortController();
const wakeup = new Wakeup();
const send = (message: FromHeartbeat) => port.postMessage(message);
const renewal = new LeaseRenewal({ setup, table, wakeup, send });
const watchdog = new Watchdog(table, setup);

port.on('message', (message: ToHeartbeat) => {
  switch (message.kind) {
    case 'cursors':
      return renewal.setCursors(message.cursors);
    case 'leasesLost':
      return renewal.setLost(message.leases);
    case 'draining':
      return renewal.drain();
    case 'leaseSwitched':
      return renewal.leaseSwitched(message.leaseMs);
    case 'stop':
      return stop.abort();
    default:
      message satisfies never;
  }
});
let isLetGo = false;
const watching = setInterval(async () => {
  isLetGo = await watchdog.look(renewal.cancels);
}, WATCH_MS);
await beatUntilStopped(stop.signal, { setup, wakeup, send, renewal, isLetGo: () => isLetGo });
clearInterval(watching);
port.close();
