import { SMALL } from '../lib/payload.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import type { SystemName, Tuning } from '../peers/peer.ts';
import { workOff } from './work-off.ts';

/** At its defaults a system runs this long and is measured by what it has done. */
const DEFAULTS_MS = 10_000;
const BEST_MS = 30_000;

/** Slow systems get fewer tasks and a shorter run. */
const SLOW: readonly SystemName[] = ['bullmq-redis', 'bullmq-postgres'];
const SLOW_TASKS = 50_000;

interface Contestant {
  readonly who: string;
  readonly system: SystemName;
  readonly tuning: Tuning;
  readonly history: boolean;
  readonly logs?: true;
}

/** pg-boss always keeps finished jobs, graphile-worker never does; taskq and BullMQ are configurable. */
const BEST: readonly Contestant[] = [
  { who: 'taskq', system: 'taskq', tuning: 'best', history: false },
  { who: 'taskq, a line each', system: 'taskq', tuning: 'best', history: false, logs: true },
  { who: 'floor', system: 'floor', tuning: 'best', history: false },
  { who: 'taskq, history', system: 'taskq', tuning: 'best', history: true },
  { who: 'floor, history', system: 'floor', tuning: 'best', history: true },
  { who: 'graphile-worker', system: 'graphile-worker', tuning: 'best', history: false },
  { who: 'pg-boss, history', system: 'pg-boss', tuning: 'best', history: true },
  { who: 'BullMQ on Redis', system: 'bullmq-redis', tuning: 'best', history: false },
  { who: 'BullMQ on PostgreSQL', system: 'bullmq-postgres', tuning: 'best', history: false },
];

const DEFAULTS: readonly Contestant[] = [
  { who: 'taskq', system: 'taskq', tuning: 'defaults', history: true },
  { who: 'graphile-worker', system: 'graphile-worker', tuning: 'defaults', history: false },
  { who: 'pg-boss', system: 'pg-boss', tuning: 'defaults', history: true },
  { who: 'BullMQ on Redis', system: 'bullmq-redis', tuning: 'defaults', history: true },
  { who: 'BullMQ on PostgreSQL', system: 'bullmq-postgres', tuning: 'defaults', history: true },
];

export const drain: Scenario = {
  name: 'drain',
  title: 'tasks that do nothing, worked off as fast as possible',
  async run(bench) {
    const tasks = bench.quick ? 20_000 : 200_000;
    const counts = bench.quick ? [1] : [1, 4, 2];
    for (let round = 0; round < bench.rounds; round++) {
      for (const processes of counts) {
        for (const contestant of BEST) await measure(bench, { contestant, processes, tasks, bytes: SMALL });
      }
      for (const contestant of bench.quick ? DEFAULTS.slice(0, 2) : DEFAULTS) {
        await measure(bench, { contestant, processes: 1, tasks, bytes: SMALL });
      }
      for (const bytes of bench.quick ? [] : [300, 1024, 2048]) {
        await measure(bench, { contestant: BEST[0]!, processes: 1, tasks, bytes });
      }
    }
  },
};

interface Run {
  readonly contestant: Contestant;
  readonly processes: number;
  readonly tasks: number;
  readonly bytes: number;
}

async function measure(bench: Bench, { contestant, processes, tasks, bytes }: Run): Promise<void> {
  const { who, system, tuning, history, logs } = contestant;
  if (!bench.has(system)) return;
  const what = nameOf(contestant, processes, bytes);
  bench.progress(`${what}: ${who}`);
  const isSlow = SLOW.includes(system);
  const limitMs = bench.quick ? 3000 : tuning === 'defaults' || isSlow ? DEFAULTS_MS : BEST_MS;
  const order = { system, tuning, history, handler: { kind: logs ? ('log' as const) : ('noop' as const) } };
  const result = await workOff(bench, {
    order,
    processes,
    tasks: isSlow ? Math.min(tasks, SLOW_TASKS) : tasks,
    bytes,
    limitMs,
  });
  bench.note(what, who, result.tasksPerS, 'tasks/s');
  if (tuning === 'defaults') return;
  const { startUpCpuMs: startUp, steadyCpuMsPerTask: steady } = result;
  // Node's own start, and that of the bench, are in it: the same for all.
  if (startUp !== undefined) bench.note(`${what}, CPU ms from spawn to first task`, who, startUp, 'ms');
  if (steady !== undefined)
    bench.note(`${what}, CPU µs of the workers after 10,000 tasks each`, who, steady * 1000, 'per task');
  const { walBytesPerTask: wal, serverCpuMsPerTask: server, cpuMsPerTask: worker } = result;
  if (wal !== undefined) bench.note(`${what}, WAL bytes`, who, wal, 'per task');
  if (server === undefined) return;
  // On a shared machine this says more than the time.
  bench.note(`${what}, CPU µs of the workers`, who, worker * 1000, 'per task');
  bench.note(`${what}, CPU µs of workers and server`, who, (worker + server) * 1000, 'per task');
}

function nameOf({ tuning }: Contestant, processes: number, bytes: number): string {
  if (tuning === 'defaults') return 'defaults, 8 slots';
  return `${processes} process${processes > 1 ? 'es' : ''}${bytes === SMALL ? '' : `, ${bytes} B`}`;
}
