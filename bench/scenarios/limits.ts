import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from '../lib/client.ts';
import { clockMs } from '../lib/clock.ts';
import { fill } from '../lib/fill.ts';
import { SMALL } from '../lib/payload.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import { startWorkers } from '../lib/workers.ts';
import type { StoreAddress } from '../peers/peer.ts';
import { workOff } from './work-off.ts';

const SLOTS = 10;

/** Starts a second that a queue with a backlog may have. */
export const RATES = [20, 500];

export const limits: Scenario = {
  name: 'limits',
  title: `a queue that runs at most ${SLOTS} tasks at once, beside one without a limit, and rates; claims of ${SLOTS}, one process`,
  async run(bench) {
    for (let round = 0; round < bench.rounds; round++) {
      await drained(bench, 'plain');
      await drained(bench, 'limited', { max_running: SLOTS });
      for (const rate of RATES) await paced(bench, rate);
    }
  },
};

/** The share of its rate that a queue with a backlog starts. */
async function paced(bench: Bench, rate: number): Promise<void> {
  const what = `${rate} a second`;
  bench.progress(what);
  const ms = bench.quick ? 3000 : 20_000;
  const warmUpMs = 3000;
  const address = await bench.openStore('taskq');
  await withClient(address, (client) =>
    client.query(`select taskq.set_queue('default', $1)`, [{ rate: `${rate}/1s` }]),
  );
  await fill(await bench.peer('taskq'), address, Math.ceil((2 * rate * (ms + warmUpMs)) / 1000), SMALL);
  const handler = { kind: 'stamp' } as const;
  const order = { system: 'taskq', address, tuning: 'defaults', handler, history: false } as const;
  const workers = await startWorkers(bench.undo, { ...order, concurrency: SLOTS }, 1);
  workers.go();
  await sleep(warmUpMs);
  const from = clockMs();
  await sleep(ms);
  const to = clockMs();
  await workers.stop();
  await bench.releaseStore('taskq', address);
  const started = [...workers.starts.values()].filter((at) => at >= from && at < to).length;
  bench.note(`${what}, the share that starts`, 'taskq', started / ((rate * (to - from)) / 1000), 'ratio');
}

async function drained(bench: Bench, what: string, settings: object = {}): Promise<void> {
  bench.progress(what);
  const tasks = bench.quick ? 2000 : 50_000;
  const handler = { kind: 'noop' } as const;
  const filling = async (address: StoreAddress): Promise<void> => {
    await withClient(address, (client) => client.query(`select taskq.set_queue('default', $1)`, [settings]));
    await fill(await bench.peer('taskq'), address, tasks, SMALL);
  };
  const { tasksPerS } = await workOff(bench, {
    order: { system: 'taskq', tuning: 'best', history: false, handler, concurrency: SLOTS, batch: SLOTS },
    processes: 1,
    tasks,
    bytes: SMALL,
    limitMs: 60_000,
    filling,
  });
  bench.note(what, 'taskq', tasksPerS, 'tasks/s');
}
