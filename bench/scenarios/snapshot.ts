import pg from 'pg';
import { SMALL } from '../lib/payload.ts';
import type { Scenario } from '../lib/scenario.ts';
import type { StoreAddress, SystemName } from '../peers/peer.ts';
import { workOff } from './work-off.ts';

const PROCESSES = 2;
const LIMIT_MS = 120_000;

export const snapshot: Scenario = {
  name: 'snapshot',
  title: 'a backlog worked off by 2 processes while another transaction stays open',
  async run(bench) {
    const tasks = bench.quick ? 50_000 : 1_000_000;
    for (const [what, meanwhile] of [
      ['plain', undefined],
      ['an idle transaction open', openSnapshot],
    ] as const) {
      for (const system of ['taskq', 'graphile-worker'] satisfies SystemName[]) {
        bench.progress(`${what}: ${system}`);
        const order = { system, tuning: 'best', history: false, handler: { kind: 'noop' } } as const;
        const work = { order, processes: PROCESSES, tasks, bytes: SMALL, limitMs: LIMIT_MS };
        const { tasksPerS } = await workOff(bench, { ...work, ...(meanwhile && { meanwhile }) });
        bench.note(what, system, tasksPerS, 'tasks/s');
      }
    }
  },
};

/** Begin a transaction that reads once and then stays idle. Returns a function that ends it. */
export async function openSnapshot(address: StoreAddress): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: address });
  client.on('error', () => {});
  await client.connect();
  await client.query('begin isolation level repeatable read');
  await client.query('select count(*) from pg_class');
  return () => client.end();
}
