import { withClient } from '../lib/client.ts';
import { payloadOf, SMALL } from '../lib/payload.ts';
import { produce } from '../lib/produce.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import { startWorkers } from '../lib/workers.ts';
import type { Place, SystemName } from '../peers/peer.ts';
import { enqueueFile } from './enqueue-file.ts';
import { addJobsWithOptions, enqueueWithOptions } from './enqueue-with-options.ts';

const SYSTEMS: readonly SystemName[] = ['taskq', 'graphile-worker', 'pg-boss'];

export const enqueue: Scenario = {
  name: 'enqueue',
  title: 'adding tasks by each system’s own library, every commit durable',
  async run(bench) {
    for (let round = 0; round < bench.rounds; round++) {
      for (const system of bench.quick ? SYSTEMS.slice(0, 2) : SYSTEMS) {
        await at(bench, system, (place) => byOne(bench, system, place));
        await at(bench, system, (place) => byMany(bench, system, place));
        await at(bench, system, (place) => inArrays(bench, system, place));
      }
      await at(bench, 'taskq', async (place) => {
        await withClient(place, (client) => client.query(SILENT));
        await byMany(bench, 'taskq', place, 'taskq, without NOTIFY');
      });
      await at(bench, 'taskq', (place) => enqueueWithOptions(bench, place));
      await at(bench, 'graphile-worker', (place) => addJobsWithOptions(bench, place));
      await at(bench, 'taskq', (place) => enqueueFile(bench, place));
    }
  },
};

/** Replaces the hint to sleeping workers with one that sends nothing. */
const SILENT = `create or replace function taskq.wake(_queue text, _from timestamptz, _always boolean default false)
  returns void language sql as 'select'`;

async function at(bench: Bench, system: SystemName, measure: (place: Place) => Promise<void>): Promise<void> {
  const place = await bench.place(system);
  await measure(place);
  await bench.leave(system, place);
}

/** One producer, one task after another. */
async function byOne(bench: Bench, system: SystemName, place: Place): Promise<void> {
  bench.progress(`one at a time: ${system}`);
  const rate = await addBy(bench, { system, place, producers: 1, size: 1 });
  bench.note('one at a time', system, rate, 'tasks/s');
}

/** 32 producers, a task per transaction, while a worker takes the tasks. */
async function byMany(bench: Bench, system: SystemName, place: Place, who: string = system): Promise<void> {
  bench.progress(`32 producers: ${who}`);
  const order = { system, place, tuning: 'best', handler: { kind: 'noop' }, history: false } as const;
  const workers = await startWorkers(bench.undo, order, 1);
  workers.go();
  bench.note(
    '32 producers and a worker',
    who,
    await addBy(bench, { system, place, producers: 32, size: 1 }),
    'tasks/s',
  );
  await workers.stop();
}

async function inArrays(bench: Bench, system: SystemName, place: Place): Promise<void> {
  bench.progress(`arrays of 1,000: ${system}`);
  const rate = await addBy(bench, { system, place, producers: 1, size: 1000 });
  bench.note('arrays of 1,000', system, rate, 'tasks/s');
}

interface Production {
  readonly system: SystemName;
  readonly place: Place;
  readonly producers: number;
  /** Tasks in one call. */
  readonly size: number;
}

/** Add tasks with the system's own library. Returns tasks per second. */
async function addBy(bench: Bench, { system, place, producers, size }: Production): Promise<number> {
  const producer = await (await bench.peer(system)).openProducer(place, producers);
  await producer.add(payloadOf(0, SMALL)); // it connects
  const rate = await produce(bench, { producers, size }, (numbers) => {
    const payloads = numbers.map((n) => payloadOf(n, SMALL));
    return size === 1 ? producer.add(payloads[0]!) : producer.addMany(payloads);
  });
  await producer.close();
  return rate;
}
