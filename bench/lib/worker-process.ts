import { loadPeer } from '../peers/load-peer.ts';
import type { Working, WorkOrder } from '../peers/peer.ts';
import { makeHandler } from './handlers.ts';
import type { FromWorker, ToWorker } from './messages.ts';

/*
 * The entry of a worker process: it loads what it needs, reports that it is ready, starts on request, and reports every
 * few milliseconds what it has done.
 */

const PROGRESS_MS = 10;

/** From then on a process is warm. */
const WARM_TASKS = 10_000;

const order = JSON.parse(process.argv[2]!) as WorkOrder;
const { run, counted } = makeHandler(order.handler);
const peer = await loadPeer(order.system);
let startUpCpuMs: number | undefined;
const start = await peer.prepare(order, (payload, attempt) => {
  startUpCpuMs ??= cpuMs();
  return run(payload, attempt);
});
let working: Promise<Working> | undefined;
let cpuBefore = 0;
let total = 0;
let warm: { readonly cpuMs: number; readonly tasks: number } | undefined;
let last = { cpuMs: 0, tasks: 0 };

process.on('message', async (message: ToWorker) => {
  if (message.kind === 'go') {
    cpuBefore = cpuMs();
    working = Promise.resolve(start());
    setInterval(sendProgress, PROGRESS_MS).unref();
    await working;
  } else {
    await (await working)?.stop();
    sendProgress();
    const since = warm ?? last;
    const steady = { cpuMs: last.cpuMs - since.cpuMs, tasks: last.tasks - since.tasks };
    const rss = process.memoryUsage.rss();
    send({ kind: 'stopped', cpuMs: cpuMs() - cpuBefore, rssBytes: rss, startUpCpuMs, steady });
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
  if (done > 0) {
    total += done;
    last = { cpuMs: cpuMs(), tasks: total };
    if (total >= WARM_TASKS) warm ??= last;
  }
  if (performance.now() - lastRssAt > 250) {
    rssBytes = process.memoryUsage.rss();
    lastRssAt = performance.now();
  } else if (done === 0) return;
  send({ kind: 'progress', done, starts: counted.takeStarts(), rssBytes });
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function send(message: FromWorker): void {
  if (process.send !== undefined && process.connected) process.send(message);
}
