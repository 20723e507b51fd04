import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from '../lib/client.ts';
import { clockMs } from '../lib/clock.ts';
import { offer } from '../lib/offer.ts';
import { SMALL } from '../lib/payload.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import { percentile } from '../lib/statistics.ts';
import { startWorkers } from '../lib/workers.ts';
import type { StoreAddress } from '../peers/peer.ts';
import { WAITING } from './claim-times.ts';
import { openSnapshot } from './snapshot.ts';

const PER_S = 5;

export const unclaimable: Scenario = {
  name: 'unclaimable',
  title: 'a worker at rest, and with 5 tasks/s, beside rows that it cannot claim; 8 slots, one process',
  async run(bench) {
    const rows = bench.quick ? 100_000 : 1_000_000;
    if (!bench.quick) await beside(bench, 'nothing', async () => async () => {});
    const count = rows.toLocaleString('en');
    await beside(bench, `${count} dead rows under a held snapshot`, (address) => leaveDead(address, rows));
    await beside(bench, `${count} due tasks of a type not handled`, (address) => addForeign(address, rows));
  },
};

/** Fill the store, then measure a worker on it. */
async function beside(
  bench: Bench,
  what: string,
  prepare: (address: StoreAddress) => Promise<() => Promise<void>>,
): Promise<void> {
  bench.progress(`beside ${what}`);
  const address = await bench.openStore('taskq');
  // The work of autovacuum is not a cost of the worker.
  await run(address, 'alter table taskq.tasks set (autovacuum_enabled = false)');
  const release = await prepare(address);
  const order = {
    system: 'taskq',
    address,
    tuning: 'defaults',
    handler: { kind: 'stamp' },
    history: true,
  } as const;
  const workers = await startWorkers(bench.undo, order, 1);
  workers.go();
  await sleep(bench.quick ? 3000 : 10_000);
  await noteCpu(bench, `${what}, at rest`, () => sleep(bench.quick ? 4000 : 60_000));
  const { addStatement } = await bench.peer('taskq');
  await noteCpu(bench, `${what}, ${PER_S} tasks/s`, async () => {
    const ms = bench.quick ? 6000 : 120_000;
    const load = {
      address,
      statement: addStatement!,
      perS: PER_S,
      ms,
      connections: 2,
      from: 0,
      bytes: SMALL,
    };
    const sent = await offer(load);
    await workers.waitForDone(sent.size, 20_000);
    const latencies = [...sent].map(([n, at]) => (workers.starts.get(n) ?? Infinity) - at);
    bench.note(`${what}, enqueue to start, p50`, 'taskq', percentile(latencies, 50)!, 'ms');
    bench.note(`${what}, enqueue to start, p99`, 'taskq', percentile(latencies, 99)!, 'ms');
  });
  await workers.stop();
  await release();
  await bench.releaseStore('taskq', address);
}

/** Record how much of a core PostgreSQL uses while `meanwhile` runs. */
async function noteCpu(bench: Bench, what: string, meanwhile: () => Promise<unknown>): Promise<void> {
  const began = clockMs();
  const before = await bench.serverCpuMs();
  await meanwhile();
  const after = await bench.serverCpuMs();
  if (before === undefined || after === undefined) return;
  bench.note(`${what}, server CPU`, 'taskq', (100 * (after - before)) / (clockMs() - began), '% of a core');
}

async function leaveDead(address: StoreAddress, rows: number): Promise<() => Promise<void>> {
  await withClient(address, (client) => client.query(WAITING, [rows]));
  const release = await openSnapshot(address);
  await run(address, 'delete from taskq.tasks');
  await run(address, 'checkpoint');
  return release;
}

async function addForeign(address: StoreAddress, rows: number): Promise<() => Promise<void>> {
  await withClient(address, (client) => client.query(WAITING.replace("'bench'", "'foreign'"), [rows]));
  await run(address, 'vacuum (analyze) taskq.tasks');
  await run(address, 'checkpoint');
  return async () => {};
}

function run(address: StoreAddress, statement: string): Promise<unknown> {
  return withClient(address, (client) => client.query(statement));
}
