import { expect, test } from 'vitest';
import { addDead } from '../../src/queue/operate/add-dead.ts';
import { deadRow, enqueue, liveRow } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

test('a waiting task becomes a dead letter by hand', async () => {
  const id = await enqueue(queue.admin, { delay_ms: 60_000 }, { a: 1 });
  expect(await addDead(queue.admin, id, 'not today')).toBe('dead');
  expect(await liveRow(queue.admin, id)).toBeUndefined();
  expect(await deadRow(queue.admin, id)).toMatchObject({
    reason: 'not today',
    by_hand: true,
    payload: { a: 1 },
    attempts: 0,
  });
});

test('a dead one gets another reason', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  await worker.settle(outcome(await claimOne(worker), 'dead', { reason: 'first' }));
  expect(await addDead(queue.admin, id, 'second')).toBe('dead');
  expect(await deadRow(queue.admin, id)).toMatchObject({ reason: 'second', by_hand: true });
});

test('a running one is held, a finished or unknown one is not live', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  const task = await claimOne(worker);
  expect(await addDead(queue.admin, id, 'r')).toBe('held');
  expect(await liveRow(queue.admin, id)).toMatchObject({ status: 'running' });
  await worker.settle(outcome(task, 'completed'));
  expect(await addDead(queue.admin, id, 'r')).toBe('not_live');
  expect(await addDead(queue.admin, '999999999', 'r')).toBe('not_live');
});

test('a dead letter added by hand outlives the retention of dead letters', async () => {
  const [put, own] = [await enqueue(queue.admin), await enqueue(queue.admin)];
  await addDead(queue.admin, put, 'parked');
  await queue.admin.rows("select taskq.move_to_dead(array[$1::bigint], array['r'], clock_timestamp())", own);
  await queue.admin.rows('select taskq.set_queue(\'default\', \'{"dead_retention": "1d"}\')');
  await queue.admin.rows("update taskq.dead_tasks set died_at = died_at - interval '2 days'");
  await queue.admin.rows('select taskq.maintain()');
  expect(await deadRow(queue.admin, own)).toBeUndefined();
  expect(await deadRow(queue.admin, put)).toBeDefined();
});
