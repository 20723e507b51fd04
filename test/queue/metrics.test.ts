import { expect, test } from 'vitest';
import { getSample } from '../../src/queue/inspect/get-sample.ts';
import { listMetrics } from '../../src/queue/inspect/list-metrics.ts';
import { beginSample, foldCounts, takeSample } from '../../src/queue/protocol/sample.ts';
import { readFunctions } from '../../src/queue/schema/schema-release.ts';
import { knowTypes } from '../support/know-types.ts';
import { enqueue, enqueueSome, lapse, type Row, rescueAll, silence } from './rows.ts';
import { type Session, useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

/** What has been counted since the last look: a text for each event, such as `2 created`. */
async function counted(session: Session = queue.admin): Promise<string[]> {
  const rows = await session.rows<{ line: string }>(
    `with taken as (delete from taskq.counts returning *)
     select sum(tasks) || ' ' || event as line from taken group by event having sum(tasks) <> 0 order by event`,
  );
  return rows.map(({ line }) => line);
}

test('a function that adds a task, or ends one, counts it', async () => {
  // It takes back what its caller has just inserted, and the caller counts what is left.
  const functions = (await readFunctions()).filter(({ name }) => name !== 'without_losers');
  const moving = functions.filter(({ text }) =>
    /insert into taskq\.(tasks|finished_tasks|dead_tasks)|delete from taskq\.tasks\b/.test(text),
  );
  expect(moving.length).toBeGreaterThan(10);
  expect(
    moving.filter(({ text }) => !/\btaskq\.(counts|append_counts)\b/.test(text)).map(({ name }) => name),
  ).toEqual([]);
});

test('each way of enqueuing counts the tasks that it creates', async () => {
  await enqueue(queue.admin);
  expect(await counted()).toEqual(['1 created']);
  await enqueueSome(queue.admin, 3);
  expect(await counted()).toEqual(['3 created']);
  await enqueue(queue.admin, { key: 'k' });
  await enqueue(queue.admin, { key: 'k' });
  await enqueue(queue.admin, { key: 'k', on_held: 'replace' });
  expect(await counted()).toEqual(['1 created']);
  await enqueue(queue.admin, { key: 'new', on_held: 'replace' });
  expect(await counted()).toEqual(['1 created']);
  await queue.admin.rows(
    `select taskq.enqueue_many('[{"type": "work", "key": "k"}, {"type": "work", "key": "l"}, {"type": "work"}]')`,
  );
  expect(await counted()).toEqual(['2 created']);
  const once = { key: 'period', key_for: '1h' };
  await enqueue(queue.admin, once);
  await queue.admin.rows("delete from taskq.tasks where unique_key = 'period'");
  await enqueue(queue.admin, once);
  expect(await counted()).toEqual(['1 created']);
});

test('what is rolled back is not counted', async () => {
  await queue.admin.rows('begin');
  await enqueueSome(queue.admin, 3);
  await queue.admin.rows('rollback');
  expect(await counted()).toEqual([]);
});

test('each outcome of an attempt is counted, and each end', async () => {
  const worker = await registerWorker(queue.admin);
  const run = async (kind: string, more: object = {}) => {
    await enqueue(queue.admin, { max_attempts: 2 });
    const task = await claimOne(worker);
    await counted();
    await worker.settle(outcome(task, kind, more));
    return [await counted(), task] as const;
  };
  expect((await run('completed'))[0]).toEqual(['1 succeeded']);
  expect((await run('dead', { reason: 'r' }))[0]).toEqual(['1 dead', '1 failed']);
  expect((await run('snoozed', { delay_ms: 60_000 }))[0]).toEqual(['1 snoozed']);
  expect((await run('cancelled'))[0]).toEqual(['1 cancelled']);
  const [failed] = await run('failed', { delay_ms: 0 });
  expect(failed).toEqual(['1 failed']);
  const again = await claimOne(worker);
  await worker.settle(outcome(again, 'failed'));
  expect(await counted()).toEqual(['1 dead', '1 failed']);
  await queue.admin.rows('select taskq.revive($1)', [again.id]);
  expect(await counted()).toEqual(['1 revived']);
  await queue.admin.rows('select taskq.cancel($1)', [again.id]);
  expect(await counted()).toEqual(['1 cancelled']);
});

test('what a handler repeats, and what replaces a task while it runs, is created when the task ends', async () => {
  const worker = await registerWorker(queue.admin);
  await enqueue(queue.admin, { key: 'k' });
  const task = await claimOne(worker);
  await enqueue(queue.admin, { key: 'k', on_held: 'replace' });
  expect(await counted()).toEqual(['1 created']);
  await worker.settle(outcome(task, 'completed'));
  expect(await counted()).toEqual(['1 created', '1 succeeded']);
  await worker.settle(outcome(await claimOne(worker), 'completed', { again: { delay_ms: 60_000 } }));
  expect(await counted()).toEqual(['1 created', '1 succeeded']);
});

test('tasks that expire, whose failure completes them, or whose worker is lost are counted', async () => {
  const worker = await registerWorker(queue.admin);
  await enqueue(queue.admin, { expires_ms: 1000 });
  await queue.admin.rows('update taskq.tasks set expires_at = created_at');
  await counted();
  await queue.admin.rows('select taskq.maintain()');
  expect(await counted()).toEqual(['1 expired']);

  await queue.admin.rows(`select taskq.set_queue('default', '{"on_failure": "complete"}')`);
  await enqueue(queue.admin);
  await worker.settle(outcome(await claimOne(worker), 'failed'));
  expect(await counted()).toEqual(['1 completed', '1 created', '1 failed']);

  await enqueue(queue.admin);
  const task = await claimOne(worker);
  await counted();
  await silence(queue.admin, worker.id, 60_000);
  await lapse(queue.admin, [task.id]);
  await rescueAll(queue.admin);
  expect(await counted()).toEqual(['1 lost']);
});

test('an attempt is counted with the time that its task waited, and with that for which it ran', async () => {
  const worker = await registerWorker(queue.admin);
  await enqueueSome(queue.admin, 2);
  await queue.admin.rows("update taskq.tasks set available_at = available_at - interval '2 s'");
  const tasks = await worker.claim({ ahead: 2, start: 0 });
  await worker.settle(
    ...tasks.map((task, nth) => outcome(task, 'completed', { ran_ms: nth === 0 ? 5 : 300 })),
  );
  expect(
    await queue.admin.rows(
      'select tasks, wait, run, run_ms::int from taskq.counts where event = $1 order by run',
      'succeeded',
    ),
  ).toEqual([
    { tasks: 1, wait: 5, run: 0, run_ms: 5 },
    { tasks: 1, wait: 5, run: 3, run_ms: 300 },
  ]);
});

test('no time that was put in by hand fails a settle, or spoils a sum', async () => {
  const worker = await registerWorker(queue.admin);
  await enqueueSome(queue.admin, 3);
  const tasks = await worker.claim({ start: 3 });
  for (const [nth, time] of ['-infinity', '5000-01-01', 'infinity'].entries())
    await queue.admin.rows(
      'update taskq.tasks set available_at = $2, started_at = $2 where id = $1',
      tasks[nth]!.id,
      time,
    );
  await worker.settle(...tasks.map((task) => outcome(task, 'failed')));
  expect(await queue.admin.value('select max(greatest(wait_ms, run_ms))::text from taskq.counts')).toMatch(
    /^\d{1,12}$/,
  );
  expect(
    await queue.admin.value('select sum(tasks)::int from taskq.counts where wait between 0 and 12'),
  ).toBe(3);
});

const sums = (span: string) =>
  queue.admin.rows<Row>(
    `select since::text, queue, type, created::int, completed::int, (select sum(n)::int from unnest(waits) as n) as waited
     from taskq.metrics where span = $1 order by since, queue, type`,
    span,
  );

test('counts are added to their minute, to their day and to all time, once', async () => {
  await queue.admin.rows("set time zone 'Asia/Kathmandu'");
  await queue.admin.rows(`insert into taskq.counts (at, tasks, event, queue, type, wait, run, wait_ms, run_ms) values
    ('2026-03-01 23:59:59.5Z', 2, 'created', 'default', 'work', null, null, null, null),
    ('2026-03-02 00:00:01Z', 3, 'created', 'default', 'work', null, null, null, null),
    ('2026-03-02 00:00:02Z', 2, 'succeeded', 'default', 'work', 1, 12, 9, 90),
    ('2026-03-02 00:00:02Z', 1, 'completed', 'other', 'work', null, null, null, null)`);
  await queue.admin.rows("set time zone 'UTC'");
  expect(await foldCounts(queue.admin)).toBe(false);
  // Of a transaction that was open for long.
  await queue.admin.rows(`insert into taskq.counts (at, tasks, event, queue, type, wait, run, wait_ms, run_ms) values
    ('2026-03-01 23:59:00Z', 1, 'succeeded', 'default', 'work', 0, 0, 1, 1)`);
  await foldCounts(queue.admin);
  await foldCounts(queue.admin);
  const pair = { queue: 'default', type: 'work' };
  const other = { queue: 'other', type: 'work', created: 0, completed: 1, waited: 0 };
  expect(await sums('minute')).toEqual([
    { since: '2026-03-01 23:59:00+00', ...pair, created: 2, completed: 1, waited: 1 },
    { since: '2026-03-02 00:00:00+00', ...pair, created: 3, completed: 2, waited: 2 },
    { since: '2026-03-02 00:00:00+00', ...other },
  ]);
  expect(await sums('day')).toEqual([
    { since: '2026-03-01 00:00:00+00', ...pair, created: 2, completed: 1, waited: 1 },
    { since: '2026-03-02 00:00:00+00', ...pair, created: 3, completed: 2, waited: 2 },
    { since: '2026-03-02 00:00:00+00', ...other },
  ]);
  expect(await sums('all')).toEqual([
    { since: '-infinity', ...pair, created: 5, completed: 3, waited: 3 },
    { since: '-infinity', ...other },
  ]);
  expect(
    await queue.admin.row(
      "select waits[1:2] as waits, runs[13] as last from taskq.metrics where queue = 'default' and span = 'all'",
    ),
  ).toEqual({
    waits: ['1', '2'],
    last: '2',
  });
});

test('a fold that does not commit counts nothing, and nothing that others have locked is waited for', async () => {
  await enqueueSome(queue.admin, 3);
  const other = await queue.session();
  await other.rows('begin');
  expect(await other.value('select taskq.fold_counts()')).toBe(1);
  expect(await queue.admin.value('select taskq.fold_counts()')).toBeNull();
  await other.rows('rollback');
  expect(await queue.admin.value('select taskq.fold_counts()')).toBe(1);
  await enqueue(queue.admin);
  await other.rows('begin');
  await other.rows('select from taskq.metrics for share');
  expect(await queue.admin.value('select taskq.fold_counts()')).toBeNull();
  await other.rows('rollback');
  await other.rows('begin');
  await other.rows('select from taskq.counts for update');
  expect(await queue.admin.value('select taskq.fold_counts()')).toBe(0);
  await other.rows('rollback');
  expect(await queue.admin.value('select taskq.fold_counts()')).toBe(1);
  expect((await sums('all')).map(({ created }) => created)).toEqual([4]);
});

test('housekeeping removes minutes after 14 days, hours after 60 and days after 400, and with the last day the sums', async () => {
  for (const [days, type] of [
    [15, 'young'],
    [399, 'young'],
    [401, 'young'],
    [401, 'old'],
  ] as const)
    await queue.admin.rows(
      `insert into taskq.counts (at, tasks, event, queue, type)
       values (clock_timestamp() - make_interval(days => $1), 1, 'created', 'default', $2)`,
      days,
      type,
    );
  await queue.admin.rows(
    "insert into taskq.counts (at, tasks, event, queue, type) values (clock_timestamp(), 1, 'created', 'default', 'young')",
  );
  await foldCounts(queue.admin);
  await queue.admin.rows('select taskq.maintain()');
  const left = await queue.admin.rows<Row>(
    'select span, type, count(*)::int as rows, sum(created)::int as created from taskq.metrics group by 1, 2 order by 1',
  );
  expect(left).toEqual([
    { span: 'all', type: 'young', rows: 1, created: 4 },
    { span: 'day', type: 'young', rows: 3, created: 3 },
    { span: 'hour', type: 'young', rows: 2, created: 2 },
    { span: 'minute', type: 'young', rows: 1, created: 1 },
  ]);
});

test('a sample has what there is of each queue and type, and of the smaller ones the sum', async () => {
  expect(await getSample(queue.admin, 100)).toMatchObject({ sampled_at: null, age_ms: null, pairs: [] });
  await knowTypes(queue.admin.client, 'b', 'c');
  await enqueueSome(queue.admin, 3);
  await queue.admin.rows(`select taskq.enqueue('b', '{}', '{"delay_ms": 60000}'), taskq.enqueue('c')`);
  const worker = await registerWorker(queue.admin);
  await worker.settle(outcome(await claimOne(worker), 'completed', { ran_ms: 700 }));
  await foldCounts(queue.admin);
  expect(await takeSample(queue.admin)).toBe(true);
  const { age_ms, bounds_ms, pairs } = await getSample(queue.admin, 1);
  expect(age_ms).toBeGreaterThanOrEqual(0);
  expect(bounds_ms).toHaveLength(12);
  const none = { blocked: 0, pending: 0, leased: 0, running: 0, dead: 0 };
  expect(pairs).toMatchObject([
    {
      queue: 'default',
      type: 'work',
      counts: { ...none, pending: 2 },
      due: 2,
      oldest_at: expect.any(String),
      created: 3,
      ended: { completed: 1, cancelled: 0, expired: 0, dead: 0 },
      attempts: { succeeded: 1, failed: 0, snoozed: 0, lost: 0 },
      runs: [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
      run_ms: 700,
    },
    { queue: '_other', type: '_other', counts: { ...none, pending: 2 }, due: 1, created: 2, run_ms: 0 },
  ]);
});

test('of all workers one samples, every 15 seconds, and not before 20 times what it took', async () => {
  expect(await beginSample(queue.admin)).toBe(true);
  expect(await beginSample(queue.admin)).toBe(false);
  const aged = (column: string, seconds: number) =>
    queue.admin.rows(`update taskq.sampling set ${column} = ${column} - make_interval(secs => $1)`, seconds);
  // The turn did not succeed.
  await aged('begun_at', 15);
  expect(await beginSample(queue.admin)).toBe(false);
  await aged('begun_at', 15);
  expect(await beginSample(queue.admin)).toBe(true);
  expect(await takeSample(queue.admin)).toBe(true);
  await aged('begun_at', 15);
  expect(await beginSample(queue.admin)).toBe(true);
  await queue.admin.rows('update taskq.sampling set took_ms = 1000');
  await aged('sampled_at', 15);
  expect(await takeSample(queue.admin)).toBe(false);
  await aged('sampled_at', 6);
  expect(await takeSample(queue.admin)).toBe(true);
});

test('what a person has locked keeps no worker waiting', async () => {
  const other = await queue.session();
  await other.rows('begin');
  await other.rows('select from taskq.sampling for update');
  expect(await beginSample(queue.admin)).toBe(false);
  expect(await takeSample(queue.admin)).toBe(false);
  await other.rows('rollback');
  expect(await takeSample(queue.admin)).toBe(true);
});

test('the view has the six metrics of each minute and day', async () => {
  const worker = await registerWorker(queue.admin);
  await enqueueSome(queue.admin, 4);
  const tasks = await worker.claim({ start: 4 });
  await queue.admin.rows(
    "update taskq.tasks set started_at = started_at, available_at = started_at - interval '2 s'",
  );
  await worker.settle(
    ...tasks.slice(0, 3).map((task) => outcome(task, 'completed', { ran_ms: 1000 })),
    outcome(tasks[3]!, 'dead', { ran_ms: 1000 }),
  );
  await queue.admin.rows("update taskq.workers set heartbeat_at = heartbeat_at - interval '3 s'");
  await foldCounts(queue.admin);
  await takeSample(queue.admin);
  for (const span of ['minute', 'day']) {
    const rows = await queue.admin.rows<Row>(
      `select queue, type, sum(tasks_created)::int as created, sum(tasks_completed)::int as completed,
         sum(tasks_failed)::int as failed, max(average_latency)::int as latency,
         max(worker_heartbeat_delay) between 3000 and 20000 as delay, max(error_rates_per_agent)::float as rate
       from taskq.list_metrics($1, 60000, 100, 'default', 'work') group by queue, type`,
      span,
    );
    expect(rows).toEqual([
      {
        queue: 'default',
        type: 'work',
        created: 4,
        completed: 3,
        failed: 1,
        latency: 3000,
        delay: true,
        rate: 0.25,
      },
    ]);
  }
  const days = { span: 'day', sinceMs: 60_000, limit: 10 } as const;
  expect(await listMetrics(queue.admin, days)).toMatchObject([
    { queue: 'default', type: 'work', tasks_created: 4 },
  ]);
  expect(await listMetrics(queue.admin, { ...days, queue: 'none' })).toEqual([]);
  expect(await listMetrics(queue.admin, { ...days, type: 'none' })).toEqual([]);
});
