import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { clockMs } from '../lib/clock.ts';
import { offer } from '../lib/offer.ts';
import { payloadText, SMALL } from '../lib/payload.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import { percentile } from '../lib/statistics.ts';
import { startWorkers, type Workers } from '../lib/workers.ts';
import type { StoreAddress, SystemName } from '../peers/peer.ts';

interface Contestant {
  readonly who: string;
  readonly system: SystemName;
  readonly polling?: true;
}

const TASKQ: Contestant = { who: 'taskq', system: 'taskq' };
const POLLING: Contestant = { who: 'taskq, polling only', system: 'taskq', polling: true };
const GRAPHILE: Contestant = { who: 'graphile-worker', system: 'graphile-worker' };
const RAW: Contestant = { who: 'insert + NOTIFY → claim', system: 'raw' };

/** Discard this many first samples. */
const WARM_UP = 20;

/** How long a transaction stays open after its enqueue, in milliseconds. */
const OPEN_MS = [20, 500, 5000];

export const latency: Scenario = {
  name: 'latency',
  title: 'from enqueue, or from commit, to the start of the handler; 8 slots, one process',
  async run(bench) {
    for (let round = 0; round < bench.rounds; round++) {
      for (const contestant of [TASKQ, GRAPHILE, RAW]) {
        await withWorker(bench, contestant, (address, add, workers) =>
          idle(bench, contestant, { address, add, workers }),
        );
      }
      for (const contestant of [TASKQ, GRAPHILE]) {
        await withWorker(bench, contestant, (address, add, workers) =>
          loaded(bench, contestant, { address, add, workers }),
        );
      }
      for (const ms of bench.quick ? OPEN_MS.slice(0, 1) : OPEN_MS) {
        for (const contestant of bench.quick ? [TASKQ, GRAPHILE] : [TASKQ, POLLING, GRAPHILE]) {
          await withWorker(bench, contestant, (address, add, workers) =>
            transactional(bench, contestant, { address, add, workers, ms }),
          );
        }
      }
    }
  },
};

interface Setting {
  readonly address: StoreAddress;
  /** The statement that adds a task. */
  readonly add: string;
  readonly workers: Workers;
}

async function withWorker(
  bench: Bench,
  { system, polling }: Contestant,
  measure: (address: StoreAddress, add: string, workers: Workers) => Promise<void>,
): Promise<void> {
  const address = await bench.openStore(system);
  const order = { system, address, tuning: 'defaults', handler: { kind: 'stamp' }, history: true } as const;
  const workers = await startWorkers(bench.undo, { ...order, ...(polling && { polling }) }, 1);
  workers.go();
  await sleep(polling ? 3000 : 1000);
  await measure(address, (await bench.peer(system)).addStatement!, workers);
  await workers.stop();
  await bench.releaseStore(system, address);
}

/** One task at a time, while the worker sleeps. */
async function idle(bench: Bench, { who }: Contestant, { address, add, workers }: Setting): Promise<void> {
  const samples = bench.quick ? 50 : 1000;
  bench.progress(`idle: ${who}`);
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  const latencies: number[] = [];
  for (let n = 0; n < samples + WARM_UP; n++) {
    const sentAt = clockMs();
    await client.query({ name: 'add', text: add, values: [payloadText(n, SMALL)] });
    await workers.waitForDone(n + 1, 20_000);
    if (n >= WARM_UP) latencies.push(workers.starts.get(n)! - sentAt);
    await sleep(20 + 20 * Math.random()); // until it sleeps again
  }
  await client.end();
  note(bench, 'idle', who, latencies);
}

/** At 2,000 tasks/s, a transaction each. */
async function loaded(bench: Bench, { who }: Contestant, { address, add, workers }: Setting): Promise<void> {
  const ms = bench.quick ? 3000 : 10_000;
  bench.progress(`2,000/s: ${who}`);
  const load = { address, statement: add, perS: 2000, connections: 16, bytes: SMALL };
  // Warm up both ends.
  const before = await offer({ ...load, ms: 1000, from: 1_000_000 });
  const began = clockMs();
  const sent = await offer({ ...load, ms, from: 0 });
  const sendMs = clockMs() - began;
  await workers.waitForDone(before.size + sent.size, 20_000);
  bench.note('2,000/s, offered in truth', who, sent.size / (sendMs / 1000), 'per s');
  note(
    bench,
    '2,000/s',
    who,
    [...sent].map(([n, at]) => (workers.starts.get(n) ?? Infinity) - at),
  );
}

/** In transactions that stay open for a while, beside 500 tasks/s that commit at once. */
async function transactional(
  bench: Bench,
  { who }: Contestant,
  { address, add, workers, ms }: Setting & { readonly ms: number },
): Promise<void> {
  const what = `transactions of ${ms} ms`;
  bench.progress(`${what}: ${who}`);
  const totalMs = Math.max(bench.quick ? 2000 : 6000, 2.2 * ms);
  const beside = offer({
    address,
    statement: add,
    perS: 500,
    ms: totalMs,
    connections: 8,
    from: 1_000_000,
    bytes: SMALL,
  });
  const end = clockMs() + totalMs - ms;
  const committedAt = new Map<number, number>();
  let next = 0;
  const commitSlowly = async (_: unknown, index: number) => {
    const client = new pg.Client({ connectionString: address });
    await client.connect();
    await sleep((ms * index) / 8);
    while (clockMs() < end) {
      const n = next++;
      await client.query('begin');
      await client.query({ name: 'add', text: add, values: [payloadText(n, SMALL)] });
      await sleep(ms);
      committedAt.set(n, clockMs());
      await client.query('commit');
    }
    await client.end();
  };
  await Promise.all(Array.from({ length: 8 }, commitSlowly));
  const besides = await beside;
  await workers.waitForDone(besides.size + committedAt.size, 20_000);
  note(
    bench,
    what,
    who,
    [...committedAt].map(([n, at]) => (workers.starts.get(n) ?? Infinity) - at),
  );
}

function note(bench: Bench, what: string, who: string, latencies: readonly number[]): void {
  bench.note(`${what}, p50`, who, percentile(latencies, 50)!, 'ms');
  bench.note(`${what}, p99`, who, percentile(latencies, 99)!, 'ms');
}
