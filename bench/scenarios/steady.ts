import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { offer } from '../lib/offer.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import { percentile } from '../lib/statistics.ts';
import { startWorkers, type Workers } from '../lib/workers.ts';
import { openSnapshot } from './snapshot.ts';
import { watchSizes } from './watch-sizes.ts';

const MB = 1024 * 1024;
const PER_S = 2000;
const PROCESSES = 2;

export const steady: Scenario = {
  name: 'steady',
  title: `${PER_S} tasks/s in and out, every tenth failing once, long ones beside; then under a held snapshot; then after`,
  apart: true,
  async run(bench) {
    const plainMs = bench.quick ? 20_000 : 600_000;
    const long = bench.quick ? { tasks: 200, ms: 10_000 } : { tasks: 2000, ms: 300_000 };
    const address = await bench.openStore('taskq');
    const order = {
      system: 'taskq',
      address,
      tuning: 'defaults',
      handler: { kind: 'flaky' },
      history: true,
    } as const;
    const concurrency = (2 * long.tasks) / PROCESSES;
    const workers = await startWorkers(bench.undo, { ...order, concurrency }, PROCESSES);
    workers.go();
    await sleep(2000);
    const add = (await bench.peer('taskq')).addStatement!;
    const setting = { address, add, workers, long };
    await phase(bench, setting, { name: 'plain', ms: plainMs, from: 1 });
    const release = await openSnapshot(address);
    await phase(bench, setting, { name: 'snapshot held', ms: plainMs / 2, from: 100_000_000 });
    await release();
    await phase(bench, setting, { name: 'after its release', ms: plainMs / 2, from: 200_000_000 });
    for (const pid of workers.pids) workers.kill(pid);
    await workers.stop();
    await bench.releaseStore('taskq', address);
  },
};

interface Setting {
  readonly address: string;
  readonly add: string;
  readonly workers: Workers;
  readonly long: { readonly tasks: number; readonly ms: number };
}

async function phase(
  bench: Bench,
  { address, add, workers, long }: Setting,
  { name, ms, from }: { name: string; ms: number; from: number },
): Promise<void> {
  bench.progress(`${name}: taskq`);
  const keepLong = addLong(address, add, { ...long, forMs: ms });
  const doneBefore = workers.done();
  const watching = watchSizes(address, ms);
  const sent = await offer({ address, statement: add, perS: PER_S, ms, connections: 16, from, bytes: 300 });
  const sizes = await watching;
  await keepLong;
  await sleep(1000);
  const done = workers.done() - doneBefore;
  bench.note(`${name}, done`, 'taskq', done / (ms / 1000), 'tasks/s');
  const latencies = (entries: readonly (readonly [number, number])[]) =>
    entries.filter(([n]) => n % 10 !== 0).map(([n, at]) => (workers.starts.get(n) ?? Infinity) - at);
  const all = [...sent];
  bench.note(`${name}, enqueue to start, p50`, 'taskq', percentile(latencies(all), 50)!, 'ms');
  bench.note(`${name}, enqueue to start, p99`, 'taskq', percentile(latencies(all), 99)!, 'ms');
  // From the second minute on: recovery from a released snapshot may take the first.
  const later = all.slice(Math.floor(all.length * (60_000 / Math.max(ms, 120_000))));
  bench.note(`${name}, p99 after the first minute`, 'taskq', percentile(latencies(later), 99)!, 'ms');
  const { first, second } = sizes;
  bench.note(`${name}, largest table and indexes, first half`, 'taskq', first.bytes / MB, 'MB');
  bench.note(`${name}, largest table and indexes, second half`, 'taskq', second.bytes / MB, 'MB');
  bench.note(`${name}, live size of table and indexes`, 'taskq', sizes.liveBytes / MB, 'MB');
  bench.note(`${name}, most dead rows`, 'taskq', Math.max(first.dead, second.dead), 'count');
  bench.note(`${name}, WAL bytes`, 'taskq', sizes.walBytes / Math.max(1, done), 'per task');
}

/** Keep a constant number of tasks running for minutes each: add new ones as they end. */
async function addLong(
  address: string,
  add: string,
  { tasks, ms, forMs }: { tasks: number; ms: number; forMs: number },
): Promise<void> {
  const pool = new pg.Pool({ connectionString: address, max: 4 });
  for (let passedMs = 0; passedMs < forMs; passedMs += ms) {
    const payload = JSON.stringify({ n: -1, sleepMs: Math.min(ms, forMs - passedMs) });
    await Promise.all(Array.from({ length: tasks }, () => pool.query(add, [payload])));
    await sleep(Math.min(ms, forMs - passedMs));
  }
  await pool.end();
}
