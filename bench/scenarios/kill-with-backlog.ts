import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from '../lib/client.ts';
import { clockMs } from '../lib/clock.ts';
import type { Bench } from '../lib/scenario.ts';
import { startWorkers } from '../lib/workers.ts';
import { WAITING } from './claim-times.ts';

const HELD = 100;
const LIMIT_MS = 120_000;

/** Measure how long the tasks of a killed worker cannot be claimed, with this many waiting and another worker alive. */
export async function killWithBacklog(bench: Bench, waiting: number): Promise<void> {
  const what = `kill -9 with ${waiting.toLocaleString('en')} waiting`;
  bench.progress(what);
  const address = await bench.openStore('taskq');
  await withClient(address, async (client) => {
    await client.query(WAITING, [waiting]);
    await client.query('vacuum (analyze) taskq.tasks');
  });
  const handler = { kind: 'sleep', ms: 3_600_000 } as const;
  const order = { system: 'taskq', address, tuning: 'defaults', handler, history: true } as const;
  const survivor = await startWorkers(bench.undo, { ...order, concurrency: 1 }, 1);
  const victim = await startWorkers(bench.undo, { ...order, concurrency: HELD }, 1);
  survivor.go();
  victim.go();
  await sleep(12_000); // it has beaten, and renewed
  await withClient(address, async (client) => {
    const { rows } = await client.query<{ id: string; lease_owner: number }>(
      `select id, lease_owner from taskq.tasks
       where lease_owner = (select id from taskq.workers where pid = $1 and stopped_at is null)`,
      [victim.pids[0]],
    );
    const owner = rows[0]?.lease_owner;
    if (owner === undefined) throw new Error('the worker to be killed holds nothing');
    const began = clockMs();
    victim.kill(victim.pids[0]!);
    for (let left = rows.length; left > 0; ) {
      if (clockMs() - began > LIMIT_MS) throw new Error(`${left} tasks of the killed worker are not rescued`);
      await sleep(250);
      const { rows: still } = await client.query<{ left: string }>(
        'select count(*) as left from taskq.tasks where id = any ($1) and lease_owner = $2',
        [rows.map(({ id }) => id), owner],
      );
      left = Number(still[0]!.left);
    }
    bench.note(`${what}, until all of its tasks are claimable`, 'taskq', (clockMs() - began) / 1000, 's');
  });
  for (const pid of survivor.pids) survivor.kill(pid); // it would wait for its handler
  await victim.stop();
  await survivor.stop();
  await bench.releaseStore('taskq', address);
}
