import { loadPeer } from '../peers/load-peer.ts';
import type { Working, WorkOrder } from '../peers/peer.ts';
import { makeHandler } from './handlers.ts';
import type { FromWorker, ToWorker } from './messages.ts';

/*
 * The entry of a worker process: it loads what it needs, reports that it is ready, starts on request, and reports every
 * few milliseconds what it has done.
 */

const PROGRESS_MS = 10;

const order = JSON.parse(process.argv[2]!) as WorkOrder;
const { run, counted } = makeHandler(order.handler);
const peer = await loadPeer(order.system);
const start = await peer.prepare(order, run);
let working: Promise<Working> | undefined;
let cpu = process.cpuUsage();

process.on('message', async (message: ToWorker) => {
  if (message.kind === 'go') {
    cpu = process.cpuUsage();
    working = Promise.resolve(start());
    setInterval(sendProgress, PROGRESS_MS).unref();
    await working;
  } else {
    await (await working)?.stop();
    sendProgress();
    const { user, system } = process.cpuUsage(cpu);
    send({ kind: 'stopped', cpuMs: (user + system) / 1000, rssBytes: process.memoryUsage.rss() });
    process.disconnect?.();
  }
});
// Without its parent the process would never end.
process.on('disconnect', () => process.exit());
// Ctrl-C reaches the whole group; the parent decides when to stop.
process.on('SIGINT', () => {});
send({ kind: 'ready' });

let lastRssAt = 0;
let rssBytes = 0;
function sendProgress(): void {
  const done = counted.takeDone();
  if (performance.now() - lastRssAt > 250) {
    rssBytes = process.memoryUsage.rss();
    lastRssAt = performance.now();
  } else if (done === 0) return;
  send({ kind: 'progress', done, starts: counted.takeStarts(), rssBytes });
}

function send(message: FromWorker): void {
  if (process.send !== undefined && process.connected) process.send(message);
}
