import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { clockMs } from '../lib/clock.ts';
import { startCommands, TASKQ } from '../lib/commands.ts';
import { fill } from '../lib/fill.ts';
import { SMALL } from '../lib/payload.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import { startWorkers } from '../lib/workers.ts';
import { countStatements, trackStatements } from './statements.ts';

const MB = 1024 * 1024;

export const idle: Scenario = {
  name: 'idle',
  title: 'what a worker costs that has nothing to do, and what it costs to start',
  async run(bench) {
    await atRest(bench, { what: '1 worker', workers: 1 });
    await atRest(bench, { what: '1 worker, polling only', workers: 1, polling: true });
    if (!bench.quick) await atRest(bench, { what: '50 workers', workers: 50 });
    await memory(bench);
    await help(bench);
  },
};

/** A worker with default settings. */
const AS_USUAL = { system: 'taskq', tuning: 'defaults', handler: { kind: 'noop' }, history: true } as const;

interface Rest {
  readonly what: string;
  readonly workers: number;
  readonly polling?: boolean;
}

/** Measure queries per worker and second besides heartbeats, and the largest resident size, of `taskq work` itself. */
async function atRest(bench: Bench, { what, workers: count, polling = false }: Rest): Promise<void> {
  const ms = bench.quick ? 15_000 : 60_000;
  bench.progress(`${what}: taskq`);
  const address = await bench.openStore('taskq');
  const isTracked = await trackStatements(address);
  const workers = await startCommands(bench.undo, address, { count, polling });
  await sleep(10_000);
  if (isTracked) {
    const queries = await countStatements(address, () => sleep(ms).then(() => {}));
    bench.note(`${what}, queries per worker`, 'taskq', queries / count / (ms / 1000), 'per s');
  }
  const mb = await workers.residentMb();
  if (mb > 0) bench.note(`${what}, RSS`, 'taskq', mb, 'MB');
  await workers.stop();
  await bench.releaseStore('taskq', address);
}

/** Measure whether a worker grows with its work. */
async function memory(bench: Bench): Promise<void> {
  const [some, many] = bench.quick ? [20_000, 60_000] : [100_000, 1_000_000];
  bench.progress('RSS after work: taskq');
  const address = await bench.openStore('taskq');
  const peer = await bench.peer('taskq');
  await fill(peer, address, some, SMALL);
  const workers = await startWorkers(bench.undo, { ...AS_USUAL, address }, 1);
  const began = clockMs();
  workers.go();
  await workers.waitForDone(1, 10_000);
  bench.note('first task done after go', 'taskq', clockMs() - began, 'ms');
  await workers.waitForDone(some, 120_000);
  await sleep(5000);
  const before = workers.rssBytes();
  await fill(peer, address, many - some, SMALL, some);
  await workers.waitForDone(many, 300_000);
  await sleep(5000);
  bench.note('RSS after all, above that after a tenth', 'taskq', (workers.rssBytes() - before) / MB, 'MB');
  await workers.stop();
  await bench.releaseStore('taskq', address);
}

/** Compare `taskq --help` with a Node that does nothing. */
async function help(bench: Bench): Promise<void> {
  const took = (args: string[]) => {
    const began = clockMs();
    spawnSync(process.execPath, args, { stdio: 'ignore' });
    return clockMs() - began;
  };
  for (let run = 0; run < 15; run++) {
    bench.note('--help', 'taskq', took([TASKQ, '--help']), 'ms');
    bench.note('--help', 'bare Node', took(['-e', '0']), 'ms');
  }
}
