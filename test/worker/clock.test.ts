import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeStateDirectories } from '../embedded/state-directory.ts';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { killStartedTaskqs, type RunningTaskq, startTaskq } from '../support/start-taskq.ts';
import { hasCompiler, type SteppedServer, startSteppedServer } from '../support/stepped-server.ts';
import { event, eventsOf, until } from './support/workers.ts';

const LEASE_MS = 3000;
const DAY_MS = 24 * 3_600_000;

const canStep = hasCompiler() || process.env.CI !== undefined;
if (!canStep) console.log('no gcc: the tests of a clock that makes a step are left out');

describe.runIf(canStep)('when the clock of the server makes a step', () => {
  let server: SteppedServer;
  let client: pg.Client;
  let workers: RunningTaskq[];

  beforeAll(async () => {
    server = await startSteppedServer();
    client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query(
      `create table witness (
        n bigint generated always as identity, task_id bigint, event text, attempt integer, pid integer, note jsonb
      )`,
    );
    workers = [work(), work()];
  });
  afterAll(async () => {
    await killStartedTaskqs();
    await client.end();
    await removeStateDirectories();
  });

  function work(): RunningTaskq {
    const handlers = join(REPOSITORY, 'test/worker/handlers');
    return startTaskq(['work', '--handlers', handlers, '--concurrency', '2'], {
      env: {
        DATABASE_URL: server.url,
        WITNESS_URL: server.url,
        TASKQ_LOG_LEVEL: 'debug',
        TASKQ_LEASE: `${LEASE_MS}ms`,
        TASKQ_RESCUE: '300ms',
        TASKQ_POLL: '200ms',
      },
    });
  }

  const value = async <T>(text: string, ...values: unknown[]): Promise<T> =>
    Object.values((await client.query(text, values)).rows[0]!)[0] as T;

  /** Waits until the query returns true. */
  const becomes = (what: string, ...values: unknown[]) =>
    until(
      () => value<boolean>(what, ...values),
      async () => `${what} ${JSON.stringify(values)}: ${workers.map((worker) => worker.stdout()).join('\n')}`,
    );

  const starts = async (ids: readonly string[]) =>
    (
      await client.query(
        "select task_id, count(*)::integer from witness where task_id = any ($1) and event = 'start' group by 1",
        [ids],
      )
    ).rows.map(({ count }) => count);

  const enqueue = (type: string, payload: object) =>
    value<string>('select id from taskq.enqueue($1, $2, \'{"allow_unknown": true}\')', type, payload);

  /** Four tasks that the two workers run until `go`, and two held by a worker that then stays silent. */
  async function begin(): Promise<{ running: string[]; abandoned: string[]; deadWorker: number }> {
    const about = { host: 'gone', pid: 1, unique_part: 'x', lease_ms: LEASE_MS, concurrency: 2, types: {} };
    // In one transaction: otherwise the others would take them.
    await client.query('begin');
    const deadWorker = await value<number>('select worker_id from taskq.register_worker($1)', about);
    const abandoned = [await enqueue('hello-js', {}), await enqueue('hello-js', {})];
    const claimed = "select from taskq.claim($1, '{default}', '{hello-js}', 2, 0, $2)";
    expect((await client.query(claimed, [deadWorker, LEASE_MS])).rowCount).toBe(2);
    await client.query('commit');
    const running = [];
    for (let n = 0; n < 4; n++) running.push(await enqueue('wait', { until: 'go' }));
    await becomes("select count(*) = 4 from witness where task_id = any ($1) and event = 'start'", running);
    return { running, abandoned, deadWorker };
  }

  /** Running tasks continue undisturbed, and all other tasks start. */
  async function expectUndisturbed(
    { running, abandoned }: Awaited<ReturnType<typeof begin>>,
    due: readonly string[],
  ): Promise<void> {
    await Promise.all(workers.map((worker) => worker.waitForLog(event('worker.started'))));
    const done =
      "select count(*) = $2 from taskq.finished_tasks where id = any ($1) and status = 'completed'";
    // While both wait for `go`, no other task has a slot, so the abandoned ones wait.
    await becomes(
      'select count(*) = 2 from taskq.tasks where id = any ($1) and losses = 1 and lease_owner is null',
      abandoned,
    );
    // And every worker that could wrongly rescue live tasks has scanned often enough.
    const scans = new Set<string>();
    await until(
      async () => scans.add(await value('select started_at::text from taskq.rescue_scan')).size > 8,
      async () => 'no scans',
    );
    expect(await starts(running)).toEqual([1, 1, 1, 1]);
    for (const id of running)
      await client.query("insert into witness (task_id, event) values ($1, 'go')", [id]);
    const fresh = await enqueue('hello-js', {});
    await becomes(done, [...running, ...abandoned, ...due, fresh], 7 + due.length);
    expect(await starts(running)).toEqual([1, 1, 1, 1]);
    expect(
      await value(
        'select count(*)::integer from taskq.finished_tasks where id = any ($1) and losses = 0',
        running,
      ),
    ).toBe(4);
    for (const worker of workers) expect(eventsOf(worker, 'lease.lost')).toEqual([]);
  }

  test.each([
    ['a day ahead', DAY_MS],
    ['a day back', -DAY_MS],
  ])('%s, no live worker loses a task, a dead one’s are run, and what is due starts', async (_, ms) => {
    const begun = await begin();
    const producer = new pg.Client({ connectionString: server.url });
    await producer.connect();
    await producer.query('begin');
    const { rows } = await producer.query(
      "select id from taskq.enqueue('hello-js', '{}', '{\"allow_unknown\": true}')",
    );
    await server.step(ms);
    await producer.query('commit');
    await producer.end();
    await expectUndisturbed(begun, [rows[0].id]);
  });

  test('a leap that is corrected leaves no lease for a day, neither of the living nor of the dead', async () => {
    const begun = await begin();
    await server.step(DAY_MS);
    // Leases that end tomorrow: those of all running tasks, and of a worker that claims now and then stays silent.
    const renewed =
      'select count(*) = 4 from taskq.tasks where id = any ($1) and lease_expires_at > clock_timestamp()';
    await becomes(renewed, begun.running);
    await client.query(
      'select taskq.heartbeat($1, array(select id from taskq.tasks where lease_owner = $1), array(select lease_no from taskq.tasks where lease_owner = $1), array[null, null]::bigint[], $2)',
      [begun.deadWorker, LEASE_MS],
    );
    await server.step(-DAY_MS);
    await expectUndisturbed(begun, []);
    await becomes(
      'select bool_and(heartbeat_at <= clock_timestamp()) from taskq.workers where stopped_at is null',
    );
  });

  test('a day back, what waits for its group, is locked, not committed, or follows a running task starts, and schedules fire', async () => {
    const add = (by: pg.Client, type: string, payload: object, options: object) =>
      by
        .query('select id from taskq.enqueue($1, $2, $3)', [
          type,
          payload,
          { allow_unknown: true, ...options },
        ])
        .then(({ rows }): string => rows[0].id);
    const done =
      "select count(*) = $2 from taskq.finished_tasks where id = any ($1) and status = 'completed'";
    await server.step(DAY_MS);
    await becomes(done, [await enqueue('hello-js', {})], 1);
    await client.query("select taskq.set_queue('lines', '{\"group_limit\": 1}'), taskq.pause_queue('still')");
    const held = [
      await add(client, 'wait', { until: 'go' }, { queue: 'lines', group: 'a' }),
      await add(client, 'wait', { until: 'go' }, { key: 'one', on_held: 'replace' }),
    ];
    await becomes("select count(*) = 2 from witness where task_id = any ($1) and event = 'start'", held);
    const locked = await add(client, 'hello-js', {}, { queue: 'still' });
    const due = [
      locked,
      await add(client, 'hello-js', {}, { queue: 'lines', group: 'a' }),
      await add(client, 'hello-js', {}, { queue: 'lines', group: 'a' }),
    ];
    // It runs after the second one.
    await add(client, 'wait', {}, { key: 'one', on_held: 'replace' });
    await client.query("select taskq.set_schedule('hourly', '@every 1h', 'hello-js')");
    await becomes("select next_at is not null from taskq.schedules where name = 'hourly'");
    const other = new pg.Client({ connectionString: server.url });
    await other.connect();
    await other.query('begin');
    await other.query('select from taskq.tasks where id = $1 for update', [locked]);
    due.push(await add(other, 'hello-js', {}, {}));
    due.push(await add(other, 'hello-js', {}, { queue: 'lines', group: 'b' }));
    await server.step(-DAY_MS);
    await becomes(
      'select bool_and(heartbeat_at <= clock_timestamp()) from taskq.workers where stopped_at is null',
    );
    const scans = new Set<string>();
    await until(
      async () => scans.add(await value('select started_at::text from taskq.rescue_scan')).size > 3,
      async () => 'no scans',
    );
    await other.query('commit');
    await other.end();
    await client.query("select taskq.resume_queue('still')");
    // No transaction from before is open any more, so no later scan corrects anything.
    await becomes('select clock_was is null from taskq.rescue_scan');
    for (const id of held) await client.query("insert into witness (task_id, event) values ($1, 'go')", [id]);
    await becomes(done, [...held, ...due], held.length + due.length);
    expect(await starts(held)).toEqual([1, 1]);
    await becomes('select count(*) = 0 from taskq.tasks');
    expect(
      await value("select count(*)::integer from witness where event = 'end' and task_id > $1", held[1]),
    ).toBe(1);
    await becomes("select next_at < clock_timestamp() + interval '2 h' from taskq.schedules");
  });
});
