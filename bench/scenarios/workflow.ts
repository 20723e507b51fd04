import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from '../lib/client.ts';
import { clockMs } from '../lib/clock.ts';
import { fill } from '../lib/fill.ts';
import { SMALL } from '../lib/payload.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import { startWorkers, type Workers } from '../lib/workers.ts';
import type { StoreAddress } from '../peers/peer.ts';
import { TYPE } from '../peers/taskq.ts';

const LIMIT_MS = 120_000;
const PROCESSES = 4;

export const workflow: Scenario = {
  name: 'workflow',
  title: 'workflows: steps that all come after one, one that comes after all, and a chain',
  async run(bench) {
    const wide = bench.quick ? 1000 : 10_000;
    const long = bench.quick ? 100 : 500;
    for (let round = 0; round < bench.rounds; round++) {
      await fanOut(bench, wide);
      await plain(bench, wide);
      await fanIn(bench, wide);
      await chain(bench, long, 1);
      await chain(bench, long, PROCESSES);
    }
  },
};

/** Step 0, and all others after it. */
async function fanOut(bench: Bench, width: number): Promise<void> {
  const what = `fan-out to ${width.toLocaleString('en')}`;
  const steps = Array.from({ length: width + 1 }, (_, n) => stepOf(n, n === 0 ? [] : [0]));
  await worked(bench, what, { steps }, async (workers, address, submitMs) => {
    bench.note(`${what}: submitted`, 'taskq', submitMs, 'ms');
    const blocked = "select 1 from taskq.tasks where gate = 'p' limit 1";
    await withClient(address, async (client) => {
      while (workers.starts.size === 0) await sleep(1);
      while ((await client.query(blocked)).rowCount !== 0) await sleep(5);
    });
    bench.note(
      `${what}: start of the parent to the last release`,
      'taskq',
      clockMs() - workers.starts.get(0)!,
      'ms',
    );
    await workers.waitForDone(width + 1, LIMIT_MS);
  });
}

/** As many tasks of no workflow. */
async function plain(bench: Bench, tasks: number): Promise<void> {
  const filling = async (address: StoreAddress) => fill(await bench.peer('taskq'), address, tasks, SMALL);
  await worked(bench, 'plain', { filling }, async (workers) => {
    await workers.waitForDone(tasks, LIMIT_MS);
    bench.note('plain', 'taskq', rateOf([...workers.starts.values()]), 'tasks/s');
  });
}

/** The last step after all others. */
async function fanIn(bench: Bench, width: number): Promise<void> {
  const what = `fan-in of ${width.toLocaleString('en')}`;
  const parents = Array.from({ length: width }, (_, n) => n);
  const steps = [...parents.map((n) => stepOf(n, [])), stepOf(width, parents)];
  await worked(bench, what, { steps }, async (workers) => {
    await workers.waitForDone(width + 1, LIMIT_MS);
    const childAt = workers.starts.get(width)!;
    const startedAt = [...workers.starts].filter(([n]) => n !== width).map(([, at]) => at);
    bench.note(`${what}: parents`, 'taskq', rateOf(startedAt), 'tasks/s');
    bench.note(
      `${what}: start of the last parent to that of the child`,
      'taskq',
      childAt - Math.max(...startedAt),
      'ms',
    );
    if (workers.done() !== width + 1) throw new Error(`${workers.done()} runs of ${width + 1} steps`);
  });
}

async function chain(bench: Bench, length: number, processes: number): Promise<void> {
  const what = `a chain of ${length}, ${processes === 1 ? '1 process' : `${processes} processes`}`;
  const steps = Array.from({ length }, (_, n) => stepOf(n, n === 0 ? [] : [n - 1]));
  await worked(bench, what, { steps, processes }, async (workers) => {
    await workers.waitForDone(length, LIMIT_MS);
    bench.note(what, 'taskq', rateOf([...workers.starts.values()]), 'tasks/s');
  });
}

function stepOf(n: number, parents: readonly number[]): object {
  return { step: `${n}`, type: TYPE, payload: { n }, after: parents.map((parent) => `${parent}`) };
}

/** From the first start to the last. */
function rateOf(startedAt: readonly number[]): number {
  return (startedAt.length - 1) / ((Math.max(...startedAt) - Math.min(...startedAt)) / 1000);
}

interface Work {
  readonly processes?: number;
  readonly steps?: readonly object[];
  readonly filling?: (address: StoreAddress) => Promise<void>;
}

/** Lets workers wait for the steps or the tasks, which are there when `measure` begins. */
async function worked(
  bench: Bench,
  what: string,
  { processes = PROCESSES, steps, filling }: Work,
  measure: (workers: Workers, address: StoreAddress, submitMs: number) => Promise<void>,
): Promise<void> {
  bench.progress(what);
  const address = await bench.openStore('taskq');
  const handler = { kind: 'stamp' } as const;
  const order = { system: 'taskq', address, tuning: 'best', handler, history: true } as const;
  const workers = await startWorkers(bench.undo, order, processes);
  await filling?.(address);
  const began = clockMs();
  if (steps !== undefined) {
    const values = [JSON.stringify({ name: what, steps }), { allow_unknown: [TYPE] }];
    await withClient(address, (client) => client.query('select taskq.run_workflow($1, $2)', values));
  }
  const submitMs = clockMs() - began;
  await withClient(address, (client) => client.query('vacuum (analyze)'));
  workers.go();
  await measure(workers, address, submitMs);
  await workers.stop();
  await bench.releaseStore('taskq', address);
}
