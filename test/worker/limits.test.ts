import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

/** Far less than until the next poll, and far more than a busy machine takes. */
const WITHOUT_A_POLL_MS = 30_000;

const limit = (settings: object, name = 'default') =>
  queue.rows('select taskq.set_queue($1, $2)', name, JSON.stringify(settings));

/** In milliseconds, the first first. */
async function startsAt(): Promise<number[]> {
  const rows = await queue.rows<{ at: Date }>('select started_at as at from taskq.finished_tasks order by 1');
  return rows.map(({ at }) => at.getTime());
}

test('two workers run at most as many tasks of a queue at once as it allows, and use every place', async () => {
  await limit({ max_running: 3 });
  await queue.enqueueSome(30, 'wait', { ms: 100 });
  const workers = [queue.work(['--until-idle']), queue.work(['--until-idle'])];
  for (const { exit } of workers) expect(await exit).toEqual({ code: 0, signal: null });
  const most = await queue.value<number>(
    `select max(running)::integer from (
       select (select count(*) from taskq.finished_tasks o
               where o.started_at <= f.started_at and o.finished_at > f.started_at) as running
       from taskq.finished_tasks f where status = 'completed'
     ) as r`,
  );
  expect(most).toBe(3);
});

test('an idle worker starts a task when the rate allows it, and asks rarely until then', async () => {
  const PERIOD_MS = 500;
  await limit({ rate: `1/${PERIOD_MS}ms`, burst: 1 });
  await queue.enqueueSome(6, 'hello-js');
  const worker = queue.work(['--until-idle', '--poll', '1m']);
  expect(await worker.exit).toEqual({ code: 0, signal: null });
  expect(eventsOf(worker, 'task.started')).toHaveLength(6);
  const starts = await startsAt();
  const gaps = starts.slice(1).map((at, n) => at - starts[n]!);
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(PERIOD_MS);
  // A busy machine delays some.
  expect(Math.min(...gaps)).toBeLessThan(PERIOD_MS + 250);
  expect(Math.max(...gaps)).toBeLessThan(WITHOUT_A_POLL_MS);
});

test('an idle worker starts a task of a group when its rate allows it, and other groups go on', async () => {
  const PERIOD_MS = 500;
  await limit({ group_rate: `1/${PERIOD_MS}ms`, group_burst: 1 });
  for (const group of ['ann', 'bob']) await queue.enqueueSome(5, 'hello-js', {}, { group });
  const worker = queue.work(['--until-idle', '--poll', '1m']);
  expect(await worker.exit).toEqual({ code: 0, signal: null });
  const workerAt = await queue.value<Date>('select started_at from taskq.workers');
  for (const group of ['ann', 'bob']) {
    const rows = await queue.rows<{ at: Date }>(
      'select started_at as at from taskq.finished_tasks where group_key = $1 order by 1',
      group,
    );
    const gaps = rows.slice(1).map(({ at }, n) => at.getTime() - rows[n]!.at.getTime());
    expect(gaps).toHaveLength(4);
    // A start comes after its slot, on a busy machine by much; the first slot, not before the worker.
    for (const [n, { at }] of rows.entries())
      expect(at.getTime() - workerAt.getTime()).toBeGreaterThanOrEqual(n * PERIOD_MS);
    expect(gaps.reduce((sum, gap) => sum + gap)).toBeGreaterThanOrEqual(2 * PERIOD_MS);
    expect(Math.min(...gaps)).toBeLessThan(PERIOD_MS + 250);
    expect(Math.max(...gaps)).toBeLessThan(WITHOUT_A_POLL_MS);
  }
});

test('a worker that waits for a full queue sleeps, and starts the next task as soon as one ends elsewhere', async () => {
  await limit({ max_running: 1 });
  const [first] = await queue.enqueueSome(2, 'wait', { ms: 60_000 });
  const busy = queue.work();
  await until(
    async () => eventsOf(busy, 'task.started').length === 1,
    async () => 'nothing runs',
  );
  const waiting = queue.work(['--poll', '1m']);
  await until(
    async () => (await queue.rows('select from taskq.idle_marks')).length > 0,
    async () => 'no worker is idle',
  );
  await queue.rows('select taskq.pause_worker(id) from taskq.workers order by started_at limit 1');
  await until(
    async () => eventsOf(busy, 'worker.paused').length === 1,
    async () => 'the worker is not paused',
  );
  const asked = Date.now();
  await queue.rows('select taskq.cancel($1)', [first]);
  await until(
    async () => eventsOf(waiting, 'task.started').length === 1,
    async () => 'the next task does not start',
  );
  expect(Date.now() - asked).toBeLessThan(WITHOUT_A_POLL_MS);
});

test('a limited queue gets slots beside the backlog of another one, which is claimed ahead', async () => {
  await limit({ max_running: 10 }, 'limited');
  await queue.enqueueSome(8000, 'hello-js');
  await queue.enqueueSome(20, 'hello-js', {}, { queue: 'limited' });
  const worker = queue.work(['--until-idle', '--concurrency', '4']);
  expect(await worker.exit).toEqual({ code: 0, signal: null });
  const before = await queue.value<number>(
    `select count(*)::integer from taskq.finished_tasks
     where queue = 'default' and started_at < (select max(started_at) from taskq.finished_tasks where queue = 'limited')`,
  );
  expect(before).toBeLessThan(7900);
});

test('a change of a limit takes effect at once, and not with the next poll', async () => {
  await limit({ rate: '1/1h' });
  await queue.enqueueSome(5, 'hello-js');
  const worker = queue.work(['--poll', '1m']);
  await until(
    async () => eventsOf(worker, 'task.started').length === 1,
    async () => 'nothing starts',
  );
  await until(
    async () => (await queue.rows('select from taskq.idle_marks')).length > 0,
    async () => 'no worker is idle',
  );
  const changed = Date.now();
  await limit({ rate: null, max_running: 4 });
  await until(
    async () => eventsOf(worker, 'task.started').length === 5,
    async () => 'not all start',
  );
  expect(Date.now() - changed).toBeLessThan(WITHOUT_A_POLL_MS);
});

test('a worker with free slots asks rarely while no waiting task may start, whatever keeps them', async () => {
  await queue.rows(
    `do $$ begin execute format('alter database %I set track_functions = ''pl''', current_database()); end $$`,
  );
  await limit({ group_limit: 1 }, 'relaxed');
  await limit({ group_limit: 1, group_order: 'strict' }, 'strict');
  await limit({ max_running: 1 }, 'running');
  await limit({ rate: '1/1h', burst: 1 }, 'rate');
  await limit({ group_rate: '1/1h', group_burst: 1 }, 'group-rate');
  const queues = ['relaxed', 'strict', 'running', 'rate', 'group-rate'];
  for (const name of queues)
    await queue.enqueueSome(30, 'wait', { until: 'go' }, { queue: name, group: 'ann' });
  await queue.enqueueSome(30, 'wait', {}, { queue: 'paused' });
  await queue.rows("select taskq.pause_queue('paused')");
  await queue.enqueueSome(30, 'wait', {}, { queue: 'later', delay_ms: 3_600_000 });
  const claims = () =>
    queue.value<number>(
      "select coalesce(sum(calls), 0)::integer from pg_stat_user_functions where funcname = 'claim'",
    );
  queue.work(['--poll', '1m', '--concurrency', '20']);
  await until(
    async () => (await queue.witnessed()).filter(({ event }) => event === 'start').length === queues.length,
    async () => JSON.stringify(await queue.witnessed()),
  );
  // A session reports what it called within a second of its last statement, and heartbeats are such.
  const counted: number[] = [];
  for (let second = 0; second < 5; second++) {
    await sleep(1000);
    counted.push(await claims());
  }
  expect(counted[0]).toBeGreaterThan(0);
  // The first seconds may have the last of the claims that found them. Where a look takes long, on a busy machine, it is
  // not searched when the next task is due, but looked again instead, four times a second.
  expect(counted.at(-1)! - counted[1]!, JSON.stringify(counted)).toBeLessThanOrEqual(30);
});

test.each([
  ['hold', 'free'],
  ['hold', 'locked'],
  ['die', 'free'],
  ['die', 'locked'],
])(
  'no task of a group starts in the worker whose task has stopped it (%s, its row %s)',
  async (ends, row) => {
    await limit({ group_on_dead: 'hold' });
    const first = await queue.enqueue('wait', { until: 'go', ends }, { group: 'ann' });
    const others = await queue.enqueueSome(10, 'wait', {}, { group: 'ann' });
    queue.work(['--concurrency', '1', '--batch', '20', '--poll', '1m']);
    await queue.saw(first, 'start');
    await queue.claimed(11);
    const holder = await queue.session();
    if (row === 'locked') await holder.query(`begin; select from taskq.tasks where id = ${first} for update`);
    await queue.witness(first, 'go');
    if (row === 'locked') {
      const waiting = () =>
        queue.value<number>(
          `select count(*)::int from pg_stat_activity
           where wait_event_type = 'Lock' and datname = current_database()`,
        );
      await until(
        async () => (await waiting()) > 0,
        async () => JSON.stringify(await queue.counts()),
      );
      await holder.query('commit');
    }
    const held = () =>
      queue.value<number>('select count(*)::int from taskq.tasks where lease_owner is not null');
    await until(
      async () => (await held()) === 0,
      async () => JSON.stringify(await queue.counts()),
    );
    expect(
      await queue.value<number>('select count(*)::int from witness where task_id = any ($1)', others),
    ).toBe(0);
  },
);
