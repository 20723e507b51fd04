import { expect, test } from 'vitest';
import { runCommand } from '../support/run-command.ts';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

/** Drops partitions of history, as if no worker had run for months (`of days`), or even the unplaced ones (`all`). */
async function dropPartitions(which: 'of days' | 'all'): Promise<void> {
  // The database may have been made before midnight: what this day asks of the tables left alone is there first.
  await queue.rows('select taskq.ensure_partitions()');
  const found = await queue.rows<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits
     where inhparent in ('taskq.finished_tasks'::regclass, 'taskq.task_errors'::regclass)`,
  );
  for (const { name } of found)
    if (which === 'all' || !name.endsWith('_unplaced')) await queue.rows(`drop table ${name}`);
}

const misplaced = "select count(*)::integer from taskq.finished_tasks where kept_in = '-infinity'";

test('after months without one, a worker makes partitions, and brings there what was cancelled meanwhile', async () => {
  await dropPartitions('of days');
  const ids = await queue.enqueueSome(3, 'hello-js');
  const cancelled = await runCommand(['cancel', ...ids], { env: { DATABASE_URL: queue.url } });
  expect(cancelled).toMatchObject({ code: 0 });
  expect(await queue.value(misplaced)).toBe(3);

  const worker = queue.work();
  expect(await worker.waitForLog(event('worker.maintained'))).toMatchObject({
    partitions_made: 8,
    rows_placed: 3,
  });
  await queue.enqueueSome(5, 'hello-js');
  await queue.drained();
  expect(await queue.value(misplaced)).toBe(0);
  expect(eventsOf(worker, 'statement.failed')).toEqual([]);
});

test('where not even the partition that takes all can be made, cancel says what to do, and a worker makes it', async () => {
  const [id] = await queue.enqueueSome(1, 'hello-js');
  await dropPartitions('all');
  const other = await queue.session();
  await other.query('begin; lock table taskq.finished_tasks in share update exclusive mode');
  const refused = await runCommand(['cancel', id!], { env: { DATABASE_URL: queue.url } });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(
    /^taskq: no partition of relation "finished_tasks" found for row .* — a partition was dropped by hand: select taskq.ensure_partitions\(\)\n$/,
  );
  await other.query('commit');
  const worker = queue.work();
  await queue.drained();
  await until(
    async () =>
      (await queue.value('select status::text from taskq.all_tasks where id = $1', id)) === 'completed',
    async () => worker.stdout(),
  );
});

test('a partition that was detached by hand is named once, and tasks end meanwhile', async () => {
  const name = await queue.value<string>(
    `select partition from taskq.wanted_partitions() where parent = 'finished_tasks' and state = 'there' order by day offset 1 limit 1`,
  );
  await queue.rows(`alter table taskq.finished_tasks detach partition taskq.${name}`);
  const worker = queue.work();
  expect(await worker.waitForLog(event('partition.detached'))).toMatchObject({ partition: name });
  await queue.enqueueSome(5, 'hello-js');
  await queue.drained();
  expect(await queue.value(misplaced)).toBe(5);
  expect(eventsOf(worker, 'statement.failed')).toEqual([]);
  expect(eventsOf(worker, 'partition.detached')).toHaveLength(1);
});
