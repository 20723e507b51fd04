import { withClient } from '../lib/client.ts';
import { fill } from '../lib/fill.ts';
import { SMALL } from '../lib/payload.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import { workOff } from './work-off.ts';

const LIMIT_MS = 60_000;

export const events: Scenario = {
  name: 'events',
  title: 'tasks that do nothing, with and without an event for each end; one process',
  async run(bench) {
    const tasks = bench.quick ? 20_000 : 200_000;
    for (let round = 0; round < bench.rounds; round++) {
      for (const isRecorded of [false, true]) await drained(bench, isRecorded, tasks);
    }
  },
};

async function drained(bench: Bench, isRecorded: boolean, tasks: number): Promise<void> {
  const what = isRecorded ? 'events recorded' : 'no events';
  bench.progress(what);
  const { tasksPerS, serverCpuMsPerTask: server } = await workOff(bench, {
    order: { system: 'taskq', tuning: 'best', history: false, handler: { kind: 'noop' } },
    ...{ processes: 1, tasks, bytes: SMALL, limitMs: LIMIT_MS },
    filling: async (address) => {
      await withClient(address, (client) =>
        client.query("select taskq.set_queue('default', $1)", [{ record_events: isRecorded }]),
      );
      await fill(await bench.peer('taskq'), address, tasks, SMALL);
    },
  });
  bench.note(what, 'taskq', tasksPerS, 'tasks/s');
  if (server !== undefined) bench.note(`${what}, CPU µs of the server`, 'taskq', server * 1000, 'per task');
}
