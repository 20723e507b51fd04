import { setTimeout as sleep } from 'node:timers/promises';
import { TaskQueue } from 'taskq';
import { afterEach, describe, expect, test } from 'vitest';
import type { LogLine, RunningTaskq } from '../support/start-taskq.ts';
import { openWay, type Way } from './support/proxy.ts';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();
const ways: Way[] = [];

async function openedWay(): Promise<Way> {
  const opened = await openWay(queue.url);
  ways.push(opened);
  return opened;
}

afterEach(async () => {
  await Promise.all(ways.splice(0).map((opened) => opened.close()));
});

describe('the answer that is lost', () => {
  test('of a claim leaves tasks unknown to their worker, which brings them back, and they run', async () => {
    const way = await openedWay();
    const worker = queue.work(['--concurrency', '3'], { url: way.url });
    await worker.waitForLog(event('worker.started'));
    const lost = way.loseAnswerOf((asked) => /taskq[._]claim(?!_context)/.test(asked));
    const ids = await queue.enqueueSome(3, 'wait');
    await lost;
    expect(await queue.rows('select status from taskq.tasks')).toEqual(
      ids.map(() => ({ status: 'running' })),
    );
    await queue.drained();
    expect(await queue.counts()).toEqual({ completed: ids.length });
    expect(await queue.rows('select distinct attempts, losses from taskq.finished_tasks')).toEqual([
      { attempts: 0, losses: 1 },
    ]);
    expect(eventsOf(worker, 'task.rescued')).toHaveLength(3);
    expect((await queue.witnessed()).filter((seen) => seen.event === 'start')).toHaveLength(3);
    worker.kill();
    expect(await worker.exit, worker.stdout()).toEqual({ code: 0, signal: null });
  });

  test('of a settle makes it ask again, which counts nothing twice', async () => {
    const way = await openedWay();
    const worker = queue.work([], { url: way.url });
    const done = await queue.enqueue('wait', { until: 'go' });
    const failed = await queue.enqueue(
      'wait',
      { until: 'go', ends: 'throw' },
      { max_attempts: 2, backoff: { kind: 'fixed', base_ms: 3_600_000 } },
    );
    const dead = await queue.enqueue('wait', { until: 'go', ends: 'throw' }, { max_attempts: 1 });
    const unkept = await queue.enqueue('wait', { until: 'go' }, { retention: 'none' });
    for (const id of [done, failed, dead, unkept]) {
      await queue.saw(id, 'start');
      const lost = way.loseAnswerOf((asked) => /taskq[._](complete|settle)/.test(asked));
      await queue.witness(id, 'go');
      await lost;
      await worker.waitForLog(
        (line) => line.task_id === id && /^task\.(completed|failed|died)$/.test(String(line.event)),
      );
    }
    expect(await queue.task(done)).toMatchObject({ status: 'completed', losses: 0 });
    expect(await queue.task(failed)).toMatchObject({ status: 'pending', attempts: 1, losses: 0 });
    expect(await queue.task(dead)).toMatchObject({ status: 'dead', attempts: 1 });
    expect(await queue.errors(failed)).toHaveLength(1);
    expect((await queue.witnessed()).filter((seen) => seen.event === 'start')).toHaveLength(4);
    expect(eventsOf(worker, 'lease.lost')).toEqual([]);
    expect(eventsOf(worker, 'connection.lost').length).toBeGreaterThan(0);
    worker.kill();
    expect(await worker.exit, worker.stdout()).toEqual({ code: 0, signal: null });
  });
});

test('a way that swallows everything for a while: the worker waits, keeps its outcomes, and recovers', async () => {
  const way = await openedWay();
  const worker = queue.work(['--lease', '3s'], { url: way.url });
  const ids = await queue.enqueueSome(4, 'wait', { until: 'go' });
  for (const id of ids) await queue.saw(id, 'start');
  way.blackhole();
  await worker.waitForLog(event('connection.lost'));
  for (const id of ids) await queue.witness(id, 'go');
  for (const id of ids) await queue.saw(id, 'end');
  way.heal();
  await worker.waitForLog(event('connection.restored'));
  await queue.drained();
  expect(await queue.counts()).toEqual({ completed: 4 });
  expect((await queue.witnessed()).filter((seen) => seen.event === 'start')).toHaveLength(4);
  await queue.hasStatus(await queue.enqueue('hello-js'), 'completed');
  worker.kill();
  expect(await worker.exit, worker.stdout()).toEqual({ code: 0, signal: null });
});

test('sessions ended again and again: no task is lost, none that succeeded runs again, and no worker ends', async () => {
  const args = ['--concurrency', '4', '--lease', '8s'];
  const workers = [queue.work(args), queue.work(args)];
  await Promise.all(workers.map((worker) => worker.waitForLog(event('worker.started'))));
  const ids: string[] = [];
  for (let turn = 0; turn < 8; turn++) {
    ids.push(...(await queue.enqueueSome(20, 'wait', { ms: 100 })));
    await queue.rows(
      `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name like 'taskq worker%'`,
    );
    await until(
      async () =>
        (await queue.value<number>("select count(*)::integer from witness where event = 'end'")) >=
        15 * (turn + 1),
      async () => workers.map((worker) => worker.stdout()).join('\n'),
    );
  }
  await queue.drained();
  expect(await queue.counts()).toEqual({ completed: ids.length });
  const ends = await queue.rows("select task_id from witness where event = 'end' order by task_id");
  expect(ends.map((row) => row.task_id)).toEqual(ids);
  for (const worker of workers) {
    const changes = changesOf(worker);
    expect(changes.length).toBeGreaterThan(0);
    changes.forEach((line, index) => {
      expect(line.event).toBe(index % 2 === 0 ? 'connection.lost' : 'connection.restored');
    });
    worker.kill();
    expect(await worker.exit, worker.stdout()).toEqual({ code: 0, signal: null });
  }
});

describe('when only the database is cut off, one line says that the connection is lost and one that it is back', () => {
  test.each([
    ['heartbeats', 'TASKQ_DIRECT_URL', 'DATABASE_URL'],
    ['statements', 'DATABASE_URL', 'TASKQ_DIRECT_URL'],
  ])('for the %s', async (connection, cutUrl, wholeUrl) => {
    const way = await openedWay();
    const worker = queue.work(['--lease', '30s'], { env: { [cutUrl]: way.url, [wholeUrl]: queue.url } });
    const ids = await queue.enqueueSome(4, 'wait', { until: 'go' });
    for (const id of ids) await queue.saw(id, 'start');
    way.cut();
    await worker.waitForLog(event('connection.lost'));
    for (const id of ids) {
      const asked = way.asked();
      await queue.witness(id, 'go');
      if (connection === 'heartbeats') await worker.waitForLog(event('task.completed', id));
      else await queue.rows('select pg_sleep(0.6)'); // for a heartbeat
      await until(
        async () => way.asked() > asked,
        async () => worker.stdout(),
      );
    }
    way.heal();
    await worker.waitForLog(event('connection.restored'));
    await queue.drained();
    expect(changesOf(worker)).toMatchObject([
      { event: 'connection.lost', connection },
      { event: 'connection.restored' },
    ]);
    expect(eventsOf(worker, 'statement.failed')).toEqual([]);
    worker.kill();
    expect(await worker.exit, worker.stdout()).toEqual({ code: 0, signal: null });
  });
});

test('a second Ctrl-C without a database says whose outcomes are not recorded, and exits 1', async () => {
  const way = await openedWay();
  const worker = queue.work(['--grace', '60s'], { url: way.url });
  const id = await queue.enqueue('wait', { until: 'never' });
  await queue.saw(id, 'start');
  way.cut();
  await worker.waitForLog(event('connection.lost'));
  worker.kill('SIGINT');
  await worker.waitForLog(event('worker.stopping'));
  await sleep(600); // an earlier signal belongs to the same Ctrl-C
  worker.kill('SIGINT');
  expect(await worker.exit, worker.stdout()).toEqual({ code: 1, signal: null });
  expect(eventsOf(worker, 'outcome.unrecorded')).toMatchObject([{ task_ids: [id], tasks: 1 }]);
  expect(eventsOf(worker, 'outcome.busy')).toEqual([]);
});

test('a locked table is a failed statement, not a lost connection', async () => {
  // A heartbeat waits longer for its answer than the SQL functions wait for a lock.
  const worker = queue.work(['--lease', '30s']);
  await queue.hasStatus(await queue.enqueue('hello-js'), 'completed');
  const id = await queue.enqueue('wait', { until: 'go' });
  await queue.saw(id, 'start');
  const session = await queue.session();
  await session.query('begin; lock table taskq.tasks in access exclusive mode');
  await queue.witness(id, 'go');
  expect(await worker.waitForLog(event('statement.failed'))).toMatchObject({
    error: { message: 'canceling statement due to lock timeout' },
  });
  await session.query('rollback');
  await worker.waitForLog(event('task.completed', id));
  expect(changesOf(worker)).toEqual([]);
});

test('a connection reset during a statement is no uncaught error', async () => {
  const way = await openedWay();
  const worker = queue.work(['--concurrency', '2'], { url: way.url });
  await worker.waitForLog(event('worker.started'));
  for (let turn = 0; turn < 5; turn++) {
    const ids = await queue.enqueueSome(20, 'hello-js');
    way.reset();
    await queue.drained();
    expect(ids).toHaveLength(20);
  }
  expect(eventsOf(worker, 'worker.retiring')).toEqual([]);
  worker.kill();
  expect(await worker.exit, worker.stdout()).toEqual({ code: 0, signal: null });
});

test('whatever anybody sends on our channels, a worker and who waits go on, and the log says nothing', async () => {
  const tasks = new TaskQueue({ databaseUrl: queue.url });
  const worker = queue.work(['--poll', '1h', '--lease', '30s']);
  await worker.waitForLog(event('worker.started'));
  const held = await queue.enqueue('wait', { until: 'go' });
  await queue.saw(held, 'start');
  const waiting = tasks.wait(held);
  const payloads = [
    ...[
      '',
      'garbage',
      '0.5',
      'null',
      '{}',
      '[]',
      '"x"',
      '{"queue": "default"}',
      '{"queue": 7, "from_us": "x"}',
    ],
    ...['0.5', '-1', '1e30', '1e999', '9007199254740993', 'null', '[1]', '{"from_us": 1}'].map(
      (fromUs) => `{"queue": "default", "from_us": ${fromUs}}`,
    ),
    ...['""', '"a\\u0000b"', '"\\ud83d"', `"${'x'.repeat(201)}"`].map(
      (name) => `{"queue": ${name}, "from_us": 1}`,
    ),
    ...['9'.repeat(30), '-1', '2147483648', `${held} `, 'NaN', '['.repeat(7999), '1; drop table witness'],
    // More queues than a worker remembers hints for.
    ...Array.from({ length: 1500 }, (_, n) => `{"queue": "none-${n}", "from_us": 1}`),
  ];
  // By its second heartbeat it has been listening.
  for (let beats = 0, last = ''; beats < 3; ) {
    const at = await queue.value<string>('select heartbeat_at::text from taskq.workers');
    if (at !== last) beats += 1;
    last = at;
    await sleep(20);
  }
  await queue.rows(
    `select pg_notify(channel, payload)
     from unnest($1::text[]) as payload, unnest(array['taskq_wake', 'taskq_orders', 'taskq_cancel', 'taskq_done']) as channel`,
    payloads,
  );
  await queue.hasStatus(await queue.enqueue('hello-js'), 'completed');
  await queue.witness(held, 'go');
  expect(await waiting).toMatchObject({ status: 'completed' });
  await queue.hasStatus(await queue.enqueue('hello-js', {}, { queue: 'another' }), 'completed');
  await tasks.close();
  worker.kill();
  expect(await worker.exit, worker.stdout()).toEqual({ code: 0, signal: null });
  expect(worker.logs().filter(({ level }) => level !== 'info' && level !== 'debug')).toEqual([]);
});

/** The log lines about the connection. */
function changesOf(worker: RunningTaskq): readonly LogLine[] {
  return worker.logs().filter((line) => String(line.event).startsWith('connection.'));
}
