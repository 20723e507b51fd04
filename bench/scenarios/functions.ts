import { migrate } from '../../dist/queue/schema/migrate.js';
import { withClient } from '../lib/client.ts';
import { SMALL } from '../lib/payload.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import type { StoreAddress } from '../peers/peer.ts';
import { TYPE } from '../peers/taskq.ts';
import { workOff } from './work-off.ts';

const LIMIT_MS = 10_000;

export const functions: Scenario = {
  name: 'functions',
  title: 'tasks that call a SQL function that does nothing, beside jobs that do nothing; 8 slots, defaults',
  async run(bench) {
    const tasks = bench.quick ? 20_000 : 100_000;
    for (let round = 0; round < bench.rounds; round++) {
      await drained(bench, 'taskq, db_function', tasks);
      await drained(bench, 'taskq, db_function with atomic', tasks);
      await drained(bench, 'graphile-worker', tasks);
    }
  },
};

async function drained(bench: Bench, who: string, tasks: number): Promise<void> {
  const system = who === 'graphile-worker' ? 'graphile-worker' : 'taskq';
  if (!bench.has(system)) return;
  bench.progress(who);
  const common = { processes: 1, tasks, bytes: SMALL, limitMs: bench.quick ? 3000 : LIMIT_MS };
  const order = { system, tuning: 'defaults', history: true } as const;
  const result =
    system === 'graphile-worker'
      ? await workOff(bench, { ...common, order: { ...order, handler: { kind: 'noop' } } })
      : await workOff(bench, {
          ...common,
          order: { ...order, handler: { kind: 'function', atomic: who.endsWith('atomic') } },
          filling: (address) => fillCalls(address, tasks),
        });
  bench.note('8 slots', who, result.tasksPerS, 'tasks/s');
  bench.note('8 slots, CPU µs of the workers', who, result.cpuMsPerTask * 1000, 'per task');
  const { serverCpuMsPerTask: server } = result;
  if (server !== undefined) bench.note('8 slots, CPU µs of the server', who, server * 1000, 'per task');
}

async function fillCalls(address: StoreAddress, tasks: number): Promise<void> {
  await migrate({ databaseUrl: address, with: ['queues'] });
  await withClient(address, async (client) => {
    await client.query(`create function public.do_nothing(payload jsonb) returns jsonb language plpgsql as $$
      begin
        return '{"status": "succeeded"}';
      end
    $$`);
    await client.query(`select taskq.add_types('{${TYPE}}')`);
    for (let from = 1; from <= tasks; from += 5000) {
      await client.query(
        `select taskq.enqueue_many((
          select jsonb_agg(jsonb_build_object('type', '${TYPE}', 'payload',
            jsonb_build_object('db_function', 'public.do_nothing', 'n', n)))
          from generate_series($1::integer, $2::integer) as n))`,
        [from, Math.min(tasks, from + 4999)],
      );
    }
  });
}
