import { expect, test } from 'vitest';
import { until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

/** Workers that run none of the tasks. */
const elsewhere = () => queue.work(['--queues', 'elsewhere']);

test('a worker goes on with an operation of one that was killed: each letter is revived once', async () => {
  await queue.enqueueSome(1000, 'ok');
  await queue.rows("select from taskq.tasks t cross join lateral taskq.add_dead(t.id, 'r')");
  await queue.rows('update taskq.dead_tasks set by_hand = false');
  const killed = elsewhere();
  await killed.waitForLog(({ event }) => event === 'worker.started');
  await queue.rows(`select from taskq.start_operation('revive', '{}', '{"rate": "100/200ms"}')`);
  const isUnderWay = 'select id from taskq.operations where done > 0';
  await until(
    async () => (await queue.rows(isUnderWay)).length > 0,
    async () => 'no batch was done',
  );
  killed.kill('SIGKILL');
  await killed.exit;
  const other = elsewhere();
  const ended = await other.waitForLog(({ event }) => event === 'operation.ended');
  expect(ended).toMatchObject({ verb: 'revive', state: 'completed', done: 1000 });
  const revived = await queue.rows<{ times: string }>(
    "select unnest(task_ids) as id, count(*) as times from taskq.audit where verb = 'revive' group by 1",
  );
  expect(revived).toHaveLength(1000);
  expect(revived.filter(({ times }) => times !== '1')).toEqual([]);
});

test('a worker that ends when it is idle does the batches of an operation, its canary first', async () => {
  await queue.enqueueSome(20, 'hello-js');
  await queue.rows("select from taskq.tasks t cross join lateral taskq.add_dead(t.id, 'r')");
  await queue.rows('update taskq.dead_tasks set by_hand = false');
  await queue.rows(`select from taskq.start_operation('revive', '{}', '{"canary": 3}')`);
  expect(await queue.work(['--until-idle']).exit).toEqual({ code: 0, signal: null });
  expect(await queue.rows('select state, done from taskq.operations')).toEqual([
    { state: 'completed', done: '20' },
  ]);
  expect(await queue.value('select count(*)::int from taskq.finished_tasks')).toBe(20);
});

test('a worker that ends when it is idle waits until its canary, which has long waited for a worker, is looked at', async () => {
  await queue.enqueueSome(5, 'hello-js');
  await queue.rows("select from taskq.tasks t cross join lateral taskq.add_dead(t.id, 'r')");
  await queue.rows('update taskq.dead_tasks set by_hand = false');
  await queue.rows(`select from taskq.start_operation('revive', '{}', '{"canary": 2}')`);
  await queue.rows('select taskq.advance_operations()');
  // As after a look that found it waiting.
  await queue.rows("update taskq.operations set next_at = clock_timestamp() + interval '4 s'");
  expect(await queue.work(['--until-idle']).exit).toEqual({ code: 0, signal: null });
  expect(await queue.rows('select state, done from taskq.operations')).toEqual([
    { state: 'completed', done: '5' },
  ]);
  expect(await queue.value('select count(*)::int from taskq.finished_tasks')).toBe(5);
});
