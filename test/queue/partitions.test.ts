import { beforeEach, expect, test } from 'vitest';
import { enqueue, finishedRow } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

function partitions(): Promise<{ name: string }[]> {
  return queue.admin.rows(
    `select relname as name from pg_inherits join pg_class c on c.oid = inhrelid
     where inhparent in ('taskq.finished_tasks'::regclass, 'taskq.task_errors'::regclass) order by 1`,
  );
}

/** The name of the partition of so many days from now on. */
function day(days: number): Promise<string> {
  return queue.admin.value(
    "select 'finished_tasks_' || to_char((clock_timestamp() at time zone 'UTC')::date + $1::int, 'YYYYMMDD')",
    days,
  );
}

/** Makes a partition whose days are over, with a row in it. */
async function makeOver(days: number): Promise<string> {
  const name = await day(-days);
  await queue.admin.rows(`create table taskq.${name} (like taskq.finished_tasks including all)`);
  await queue.admin.rows(
    `alter table taskq.finished_tasks attach partition taskq.${name} for values in ('${name.slice(-8)}')`,
  );
  await queue.admin.rows(
    `insert into taskq.finished_tasks select 1, created_at, not_before, null, created_at, '${name.slice(-8)}', 1, 1, 0, 0, 0, 'completed', 2, 'q', 't', '{}', 'me'
     from (values (clock_timestamp(), clock_timestamp())) as now (created_at, not_before)`,
  );
  return name;
}

// The template may be of yesterday.
beforeEach(async () => {
  await queue.admin.rows('select taskq.ensure_partitions()');
});

test('a second call makes nothing', async () => {
  const before = await partitions();
  expect(before.length).toBeGreaterThan(180);
  expect(await queue.admin.value('select taskq.ensure_partitions()')).toBe(0);
  expect(await partitions()).toEqual(before);
});

test('eight sessions at once make each missing partition once, and none fails', async () => {
  const before = await partitions();
  for (const { name } of before.filter((_, place) => place % 4 === 0))
    await queue.admin.rows(`drop table taskq.${name}`);
  const missing = before.length - (await partitions()).length;
  const sessions = await Promise.all(Array.from({ length: 8 }, () => queue.session()));
  const made = await Promise.all(
    sessions.map((session) => session.value<number>('select taskq.ensure_partitions()')),
  );
  expect(made.reduce((sum, count) => sum + count)).toBe(missing);
  expect(await partitions()).toEqual(before);
});

test('only what is over is dropped: not today, not `ever`', async () => {
  const [yesterday, longAgo] = [await makeOver(1), await makeOver(400)];
  const before = await partitions();
  const dropped = await queue.admin.rows<{ name: string }>(
    'select * from taskq.drop_partitions() as name order by 1',
  );
  expect(dropped.map((row) => row.name)).toEqual([longAgo, yesterday]);
  expect(await partitions()).toEqual(before.filter(({ name }) => name !== yesterday && name !== longAgo));
  expect((await partitions()).map(({ name }) => name)).toContain(await day(0));
});

test('a partition that somebody reads is left for the next time, and settle goes on meanwhile', async () => {
  const name = await makeOver(1);
  const reader = await queue.session();
  await reader.rows('begin');
  await reader.rows(`select from taskq.${name}`);
  // A settle waits while a drop tries: 50 ms, and longer where the server has no time for it.
  for (const verb of ['settle', 'complete'])
    await queue.admin.rows(`alter function taskq.${verb} set lock_timeout = '10s'`);
  const worker = await registerWorker(await queue.session());
  await worker.session.rows("set statement_timeout = '20s'");
  const sweeper = await queue.session();
  await sweeper.rows("set statement_timeout = '20s'");
  for (let round = 0; round < 3; round++) {
    const id = await enqueue(queue.admin);
    const task = await claimOne(worker);
    const [dropped, answers] = await Promise.all([
      sweeper.rows('select * from taskq.drop_partitions()'),
      worker.settle(outcome(task, 'completed')),
    ]);
    expect(dropped).toEqual([]);
    expect(answers).toMatchObject([{ answer: 'recorded' }]);
    expect(await finishedRow(queue.admin, id)).toBeDefined();
  }
  await reader.rows('commit');
  expect(await queue.admin.rows('select * from taskq.drop_partitions() as name')).toEqual([{ name }]);
});

test('partitions are made while somebody reads history and others settle', async () => {
  const name = await day(30);
  await queue.admin.rows(`drop table taskq.${name}`);
  const reader = await queue.session();
  await reader.rows('begin');
  await reader.rows('select from taskq.finished_tasks');
  const settling = await registerWorker(await queue.session());
  await settling.session.rows('begin');
  await enqueue(queue.admin);
  await settling.settle(outcome(await claimOne(settling), 'completed'));
  const maker = await queue.session();
  await maker.rows("set statement_timeout = '20s'");
  expect(await maker.value('select taskq.ensure_partitions()')).toBe(1);
  await settling.session.rows('commit');
  await reader.rows('commit');
});

test('a settle whose partition is missing says so, and succeeds when it is made', async () => {
  await queue.admin.rows(`drop table taskq.${await day(7)}`);
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  const task = await claimOne(worker);
  await expect(worker.settle(outcome(task, 'completed'))).rejects.toMatchObject({
    code: '23514',
    message: 'no partition of relation "finished_tasks" found for row',
  });
  await queue.admin.rows('select taskq.ensure_partitions()');
  expect(await worker.settle(outcome(task, 'completed'))).toMatchObject([{ answer: 'recorded' }]);
  expect(await finishedRow(queue.admin, id)).toBeDefined();
});
