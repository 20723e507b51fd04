import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from '../lib/client.ts';
import { fill } from '../lib/fill.ts';
import { SMALL } from '../lib/payload.ts';
import type { Scenario } from '../lib/scenario.ts';
import { startWorkers } from '../lib/workers.ts';

const MS = 5000;
const PROCESSES = 10;

export const slots: Scenario = {
  name: 'slots',
  title: `tasks of ${MS / 1000} s, all running at once in ${PROCESSES} processes`,
  async run(bench) {
    const perProcess = bench.quick ? 100 : 1000;
    const tasks = PROCESSES * perProcess;
    bench.progress(`${tasks} slots: taskq`);
    const address = await bench.openStore('taskq');
    await fill(await bench.peer('taskq'), address, tasks, SMALL);
    const handler = { kind: 'sleep', ms: MS } as const;
    const order = { system: 'taskq', address, tuning: 'defaults', handler, history: true } as const;
    const workers = await startWorkers(bench.undo, { ...order, concurrency: perProcess }, PROCESSES);
    workers.go();
    let [connections, running, oldestBeatMs] = [0, 0, 0];
    const doing = workers.waitForDone(tasks, 120_000);
    let isOver = false;
    void doing.then(() => {
      isOver = true;
    });
    await withClient(address, async (client) => {
      while (!isOver) {
        const { rows } = await client.query<{ connections: string; running: string; oldest: number | null }>(
          LOOK,
        );
        const [{ connections: open, running: now, oldest }] = rows as [(typeof rows)[0] & object];
        connections = Math.max(connections, Number(open));
        running = Math.max(running, Number(now));
        oldestBeatMs = Math.max(oldestBeatMs, oldest ?? 0);
        await sleep(200);
      }
      const { rows } = await client.query<{ lost: string }>(LOST);
      bench.note('leases lost', 'taskq', Number(rows[0]!.lost), 'count');
    });
    await doing;
    bench.note('running at once', 'taskq', running, 'count');
    bench.note('connections per process', 'taskq', connections / PROCESSES, 'count');
    bench.note('longest time without a heartbeat', 'taskq', oldestBeatMs, 'ms');
    await workers.stop();
    await bench.releaseStore('taskq', address);
  },
};

const LOOK = `select
  (select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
    and backend_type = 'client backend') as connections,
  (select count(*) from taskq.tasks where status = 'running') as running,
  (select extract(epoch from max(clock_timestamp() - heartbeat_at))::float8 * 1000 from taskq.workers
    where stopped_at is null) as oldest`;

const LOST = `select (select count(*) from taskq.finished_tasks where losses > 0 or attempts > 0)
  + (select count(*) from taskq.task_errors) + (select count(*) from taskq.dead_tasks) as lost`;
