import { withClient } from '../lib/client.ts';
import { payloadOf, SMALL } from '../lib/payload.ts';
import { produce } from '../lib/produce.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import { startWorkers } from '../lib/workers.ts';
import type { StoreAddress, SystemName } from '../peers/peer.ts';
import { enqueueFile } from './enqueue-file.ts';
import { addJobsWithOptions, enqueueWithOptions } from './enqueue-with-options.ts';

const SYSTEMS: readonly SystemName[] = ['taskq', 'graphile-worker', 'pg-boss'];

export const enqueue: Scenario = {
  name: 'enqueue',
  title: 'adding tasks by each system’s own library, every commit durable',
  async run(bench) {
    for (let round = 0; round < bench.rounds; round++) {
      for (const system of bench.quick ? SYSTEMS.slice(0, 2) : SYSTEMS) {
        await at(bench, system, (address) => byOne(bench, system, address));
        await at(bench, system, (address) => byMany(bench, system, address));
        await at(bench, system, (address) => inArrays(bench, system, address));
      }
      await at(bench, 'taskq', async (address) => {
        await withClient(address, (client) => client.query(SILENT));
        await byMany(bench, 'taskq', address, 'taskq, without NOTIFY');
      });
      await at(bench, 'taskq', (address) => enqueueWithOptions(bench, address));
      await at(bench, 'graphile-worker', (address) => addJobsWithOptions(bench, address));
      await at(bench, 'taskq', (address) => enqueueFile(bench, address));
    }
  },
};

/** Replaces the hint to sleeping workers with one that sends nothing. */
const SILENT = `create or replace function taskq.wake(_queue text, _from timestamptz, _always boolean default false)
  returns void language sql as 'select'`;

async function at(
  bench: Bench,
  system: SystemName,
  measure: (address: StoreAddress) => Promise<void>,
): Promise<void> {
  const address = await bench.openStore(system);
  await measure(address);
  await bench.releaseStore(system, address);
}

/** One producer, one task after another. */
async function byOne(bench: Bench, system: SystemName, address: StoreAddress): Promise<void> {
  bench.progress(`one at a time: ${system}`);
  const rate = await addBy(bench, { system, address, producers: 1, size: 1 });
  bench.note('one at a time', system, rate, 'tasks/s');
}

/** 32 producers, a task per transaction, while a worker takes the tasks. */
async function byMany(
  bench: Bench,
  system: SystemName,
  address: StoreAddress,
  who: string = system,
): Promise<void> {
  bench.progress(`32 producers: ${who}`);
  const order = { system, address, tuning: 'best', handler: { kind: 'noop' }, history: false } as const;
  const workers = await startWorkers(bench.undo, order, 1);
  workers.go();
  bench.note(
    '32 producers and a worker',
    who,
    await addBy(bench, { system, address, producers: 32, size: 1 }),
    'tasks/s',
  );
  await workers.stop();
}

async function inArrays(bench: Bench, system: SystemName, address: StoreAddress): Promise<void> {
  bench.progress(`arrays of 1,000: ${system}`);
  const rate = await addBy(bench, { system, address, producers: 1, size: 1000 });
  bench.note('arrays of 1,000', system, rate, 'tasks/s');
}

interface Production {
  readonly system: SystemName;
  readonly address: StoreAddress;
  readonly producers: number;
  /** Tasks in one call. */
  readonly size: number;
}

/** Add tasks with the system's own library. Returns tasks per second. */
async function addBy(bench: Bench, { system, address, producers, size }: Production): Promise<number> {
  const producer = await (await bench.peer(system)).openProducer(address, producers);
  await producer.add(payloadOf(0, SMALL)); // it connects
  const rate = await produce(bench, { producers, size }, (numbers) => {
    const payloads = numbers.map((n) => payloadOf(n, SMALL));
    return size === 1 ? producer.add(payloads[0]!) : producer.addMany(payloads);
  });
  await producer.close();
  return rate;
}
