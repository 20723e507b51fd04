import { clockMs } from '../lib/clock.ts';
import { fill } from '../lib/fill.ts';
import { SMALL } from '../lib/payload.ts';
import type { Scenario } from '../lib/scenario.ts';
import { startWorkers } from '../lib/workers.ts';

const MS = 20;
const CONCURRENCY = 100;

export const slow: Scenario = {
  name: 'slow',
  title: `handlers that take ${MS} ms, ${CONCURRENCY} at a time in one process, against the ideal`,
  async run(bench) {
    const tasks = bench.quick ? 2000 : 10_000;
    const idealMs = (tasks / CONCURRENCY) * MS;
    const peer = await bench.peer('taskq');
    for (let round = 0; round < bench.rounds; round++) {
      bench.progress(`${tasks} tasks: taskq`);
      const address = await bench.openStore('taskq');
      await fill(peer, address, tasks, SMALL);
      const handler = { kind: 'sleep', ms: MS } as const;
      const order = { system: 'taskq', address, tuning: 'defaults', handler, history: true } as const;
      const workers = await startWorkers(bench.undo, { ...order, concurrency: CONCURRENCY }, 1);
      const began = clockMs();
      workers.go();
      await workers.waitForDone(tasks, 20 * idealMs + 30_000);
      const ms = clockMs() - began;
      // A task is stamped at its end: it started `MS` earlier.
      const first = Math.min(...workers.starts.values()) - MS;
      bench.note('ideal ÷ time from the first start', 'taskq', idealMs / (began + ms - first), 'ratio');
      bench.note('first start after go', 'taskq', first - began, 'ms');
      await workers.stop();
      await bench.releaseStore('taskq', address);
    }
  },
};
