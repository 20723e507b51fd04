import { createServer } from '../../dist/serve.js';
import { withClient } from '../lib/client.ts';
import { clockMs } from '../lib/clock.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import { percentile } from '../lib/statistics.ts';

const REQUESTS = 200;

/** Of a hundred types in ten queues; the payloads number the tasks. */
const TASKS = {
  live: `insert into taskq.tasks (queue, type, payload, priority, available_at, not_before, created_at)
    select 'queue-' || n % 10, 'type-' || n % 100, jsonb_build_object('order', jsonb_build_object('id', n)), 2,
      ts, ts, ts - interval '1 ms' * n
    from clock_timestamp() as ts, generate_series(1, $1::integer) as n`,
  dead: `insert into taskq.dead_tasks (id, created_at, not_before, died_at, lease_no, attempts, losses, releases,
      priority, notify_done, reason, queue, type, payload, created_by, error, fingerprint)
    select 10000000 + n, ts, ts, ts - interval '100 ms' * n, 1, 3, 0, 0, 2, false, 'attempts_spent', 'queue-' || n % 10,
      'type-' || n % 100, jsonb_build_object('n', n), 'bench', e.error, e.fingerprint
    from clock_timestamp() as ts, generate_series(1, $1::integer) as n
    join (
      select bug, error, taskq.fingerprint('type-' || bug, 'attempts_spent', error) as fingerprint
      from generate_series(0, 49) as bug
      cross join lateral jsonb_build_object('name', 'Error', 'message', 'bug ' || chr(65 + bug)) as error
    ) as e on e.bug = n % 50`,
  finished: `insert into taskq.finished_tasks (id, created_at, not_before, started_at, finished_at, drop_on, kept_in, lease_no,
      attempts, losses, releases, status, priority, queue, type, payload, created_by)
    select 20000000 + n, ts, ts, ts, ts, taskq.drop_on('7d', ts),
      taskq.place_of('finished_tasks', taskq.drop_on('7d', ts)), 1, 0, 0, 0, 'completed', 2, 'queue-' || n % 10,
      'type-' || n % 100, jsonb_build_object('n', n), 'bench'
    from clock_timestamp() as ts, generate_series(1, $1::integer) as n`,
} as const;

/** What the pages ask for. */
const PATHS = {
  'tasks, the first 50': 'tasks?limit=50',
  'tasks of a queue': 'tasks?limit=50&queue=queue-7',
  'tasks of a type that died': 'tasks?limit=50&status=dead&type=type-42',
  'tasks that completed': 'tasks?limit=50&status=completed&queue=queue-7',
  'one task': 'tasks/17',
  'why a task waits': 'tasks/17/explain',
  'dead letters of a group': 'tasks?limit=50&status=dead&fingerprint=FINGERPRINT',
  'one group of dead letters': 'dead/groups/FINGERPRINT',
  queues: 'queues',
  types: 'types',
  workers: 'workers',
  stats: 'stats',
  'series of a day': 'series?span=24h',
  audit: 'audit',
  operations: 'operations',
} as const;

/** These read more than a page; each has a bar of its own. */
const SEARCHES = {
  'all groups of dead letters': 'dead/groups',
  'a payload that no task has': 'tasks?limit=50&payload.order.id=none',
} as const;

export const http: Scenario = {
  name: 'http',
  title: 'GET requests to the server of taskq serve over 1 M live, 1 M dead and 5 M finished tasks',
  apart: true,
  async run(bench) {
    const scale = bench.quick ? 0.01 : 1;
    const address = await bench.openStore('taskq');
    const fingerprint = await fill(bench, address, scale);
    const server = createServer({ databaseUrl: address, authorize: () => ({ role: 'admin' }) });
    const ask = async (path: string) => {
      const url = `http://localhost/api/v1/${path.replace('FINGERPRINT', fingerprint)}`;
      const began = clockMs();
      const answer = await server.fetch(new Request(url, { headers: { host: 'localhost' } }));
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`);
      return clockMs() - began;
    };
    const measure = async (paths: Readonly<Record<string, string>>, requests: number) => {
      for (const [what, path] of Object.entries(paths)) {
        bench.progress(what);
        const times: number[] = [];
        for (let n = 0; n < requests; n++) times.push(await ask(path));
        bench.note(`${what}, p50`, 'taskq', percentile(times, 50)!, 'ms');
        bench.note(`${what}, p99`, 'taskq', percentile(times, 99)!, 'ms');
      }
    };
    for (let round = 0; round < bench.rounds; round++) {
      await measure(PATHS, REQUESTS);
      await measure(SEARCHES, 10);
    }
    await server.close();
    await bench.releaseStore('taskq', address);
  },
};

/** Fills the tables and takes a sample. Returns the fingerprint of a group. */
async function fill(bench: Bench, address: string, scale: number): Promise<string> {
  return withClient(address, async (client) => {
    const counts = { live: 1_000_000, dead: 1_000_000, finished: 5_000_000 };
    for (const [what, text] of Object.entries(TASKS)) {
      bench.progress(`filling: ${what}`);
      await client.query(text, [counts[what as keyof typeof counts] * scale]);
    }
    bench.progress('vacuum');
    await client.query('vacuum (analyze)');
    await client.query('select taskq.take_sample(), taskq.fold_counts()');
    const { rows } = await client.query<{ fingerprint: string }>(
      'select fingerprint from taskq.dead_tasks order by died_at desc limit 1',
    );
    return rows[0]!.fingerprint;
  });
}
