import { withClient } from '../lib/client.ts';
import { fill } from '../lib/fill.ts';
import { SMALL } from '../lib/payload.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import type { StoreAddress } from '../peers/peer.ts';
import { workOff } from './work-off.ts';

const SLOTS = 10;

export const limits: Scenario = {
  name: 'limits',
  title: `a queue that runs at most ${SLOTS} tasks at once, beside one without a limit; claims of ${SLOTS}, one process`,
  async run(bench) {
    for (let round = 0; round < bench.rounds; round++) {
      await drained(bench, 'plain');
      await drained(bench, 'limited', { max_running: SLOTS });
    }
  },
};

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
