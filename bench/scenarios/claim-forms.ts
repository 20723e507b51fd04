import { SMALL } from '../lib/payload.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import { workOff } from './work-off.ts';

const FORMS = ['skip-locked', 'optimistic'] as const;

export const claimForms: Scenario = {
  name: 'claim-forms',
  title: 'a drain by claims with and without SKIP LOCKED; no-op handlers, one process and four',
  async run(bench) {
    for (let round = 0; round < bench.rounds; round++)
      for (const processes of [1, 4]) for (const claim of FORMS) await drained(bench, claim, processes);
  },
};

async function drained(bench: Bench, claim: (typeof FORMS)[number], processes: number): Promise<void> {
  const what = `${claim}, ${processes} process${processes === 1 ? '' : 'es'}`;
  bench.progress(what);
  const { tasksPerS, serverCpuMsPerTask } = await workOff(bench, {
    order: { system: 'taskq', tuning: 'best', history: false, handler: { kind: 'noop' }, claim },
    processes,
    tasks: bench.quick ? 2000 : 100_000,
    bytes: SMALL,
    limitMs: 60_000,
  });
  bench.note(what, 'taskq', tasksPerS, 'tasks/s');
  if (serverCpuMsPerTask !== undefined)
    bench.note(`${what}, µs of the server`, 'taskq', serverCpuMsPerTask * 1000, 'per task');
}
