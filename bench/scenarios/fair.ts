import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from '../lib/client.ts';
import { clockMs } from '../lib/clock.ts';
import { fill } from '../lib/fill.ts';
import { fillGroups } from '../lib/groups.ts';
import { payloadText, SMALL } from '../lib/payload.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import { percentile } from '../lib/statistics.ts';
import { startWorkers } from '../lib/workers.ts';
import type { StoreAddress } from '../peers/peer.ts';
import { TYPE } from '../peers/taskq.ts';

const MS = 20;
const CONCURRENCY = 100;
const PROCESSES = 2;

/** How often another group gets a task, in milliseconds. */
const EVERY_MS = 100;

const ADD = `select from taskq.enqueue('${TYPE}', $1, jsonb_build_object('group', $2::text))`;

export const fair: Scenario = {
  name: 'fair',
  title: `a group's single tasks beside other groups' backlogs; ${MS} ms handlers, ${PROCESSES} × ${CONCURRENCY} slots`,
  async run(bench) {
    const tasks = bench.quick ? 50_000 : 1_000_000;
    for (let round = 0; round < bench.rounds; round++) {
      await beside(bench, 'ungrouped', (address) =>
        bench.peer('taskq').then((peer) => fill(peer, address, tasks, SMALL)),
      );
      await beside(bench, 'one group', (address) => fillGroups(address, tasks, () => 'large'));
      await beside(bench, '1,000 groups', (address) =>
        fillGroups(address, tasks, (n) => `group ${n % 1000}`),
      );
    }
  },
};

/** Work on the backlog for a while, and time single tasks of other groups meanwhile. */
async function beside(
  bench: Bench,
  what: string,
  filling: (address: StoreAddress) => Promise<void>,
): Promise<void> {
  bench.progress(`${what}: fill`);
  const address = await bench.openStore('taskq');
  await filling(address);
  await withClient(address, (client) =>
    client.query('vacuum (analyze)').then(() => client.query('checkpoint')),
  );
  bench.progress(what);
  const handler = { kind: 'sleep', ms: MS } as const;
  const order = { system: 'taskq', address, tuning: 'defaults', handler, history: false } as const;
  const workers = await startWorkers(bench.undo, { ...order, concurrency: CONCURRENCY }, PROCESSES);
  workers.go();
  await sleep(3000);
  const sentAt = new Map<number, number>();
  const doneBefore = workers.done();
  const began = clockMs();
  const end = began + (bench.quick ? 3000 : 20_000);
  await withClient(address, async (client) => {
    for (let n = -1; clockMs() < end; n--) {
      sentAt.set(n, clockMs());
      await client.query({ name: 'add', text: ADD, values: [payloadText(n, SMALL), `single ${n}`] });
      await sleep(EVERY_MS);
    }
  });
  const perS = (workers.done() - doneBefore) / ((clockMs() - began) / 1000);
  // Those that still wait have waited at least until now.
  await sleep(2000);
  const now = clockMs();
  // A task is stamped at its end: it started `MS` earlier.
  const waits = [...sentAt].map(([n, at]) => (workers.starts.get(n) ?? now) - MS - at);
  await workers.stop();
  await bench.releaseStore('taskq', address);
  bench.note(`beside ${what}, tasks/s`, 'taskq', perS, 'tasks/s');
  if (what === 'ungrouped') return;
  bench.note(`beside ${what}, enqueue to start, p50`, 'taskq', percentile(waits, 50)!, 'ms');
  bench.note(`beside ${what}, enqueue to start, p99`, 'taskq', percentile(waits, 99)!, 'ms');
}
