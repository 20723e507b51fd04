import { expect, test } from 'vitest';
import { countUnfinished } from '../../src/queue/count-unfinished.ts';
import { stats } from '../../src/queue/stats.ts';
import { knowTypes } from '../support/know-types.ts';
import { enqueue, enqueueSome } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

test('an empty database has nothing to count', async () => {
  expect(await stats(queue.admin, 3_600_000)).toMatchObject({
    queues: [],
    types: [],
    depth: 0,
    oldest_waiting_ms: null,
    completed: 0,
    completed_per_minute: 0,
    unhandled_types: [],
    workers: 0,
  });
});

test('tasks are counted by queue and status, and by type', async () => {
  await enqueueSome(queue.admin, 3);
  await enqueue(queue.admin, { queue: 'b', delay_ms: 60_000 });
  await knowTypes(queue.admin.client, 'stranger');
  await queue.admin.rows("select taskq.enqueue('stranger')");
  const worker = await registerWorker(queue.admin);
  const [done, dead, failed] = await worker.claim({ start: 3 });
  await worker.settle(
    outcome(done!, 'completed'),
    outcome(dead!, 'dead', { reason: 'r' }),
    outcome(failed!, 'failed', { delay_ms: 60_000 }),
  );
  await queue.admin.rows(
    "update taskq.tasks set available_at = available_at - interval '5 s' where type = 'stranger'",
  );
  await queue.admin.rows("select taskq.pause_queue('b')");
  const found = await stats(queue.admin, 3_600_000);
  expect(found.queues).toMatchObject([
    {
      queue: 'b',
      counts: { pending: 1 },
      depth: 0,
      oldest_waiting_ms: null,
      retrying: 0,
      ended: {},
      paused: true,
    },
    {
      queue: 'default',
      counts: { pending: 2, dead: 1 },
      depth: 1,
      retrying: 1,
      ended: { completed: 1 },
      paused: false,
    },
  ]);
  expect(found.types).toMatchObject([
    { type: 'stranger', live: 1, due: 1, handled: false },
    { type: 'work', live: 2, due: 0, dead: 1, completed: 1, handled: true },
  ]);
  expect(found).toMatchObject({
    depth: 1,
    completed: 1,
    completed_per_minute: 0.02,
    unhandled_types: ['stranger'],
    workers: 1,
  });
  expect(found.oldest_waiting_ms).toBeGreaterThanOrEqual(5000);
  expect(found.oldest_waiting_ms).toBeLessThan(60_000);
});

test('the average time of a type is over all its queues, each task counted once', async () => {
  const worker = await registerWorker(queue.admin);
  await enqueueSome(queue.admin, 3);
  await enqueue(queue.admin, { queue: 'slow' });
  const tasks = await worker.claim({ queues: ['default', 'slow'], start: 0, ahead: 4 });
  await worker.settle(
    ...tasks.map((task) => outcome(task, 'completed', { ran_ms: task.queue === 'slow' ? 1000 : 200 })),
  );
  expect((await stats(queue.admin, 3_600_000)).types).toMatchObject([
    { type: 'work', completed: 4, average_ms: 400 },
  ]);
});

test('what ended before is not counted', async () => {
  const worker = await registerWorker(queue.admin);
  await enqueueSome(queue.admin, 2);
  const tasks = await worker.claim({ start: 2 });
  await worker.settle(...tasks.map((task) => outcome(task, 'completed')));
  await queue.admin.rows(
    "update taskq.finished_tasks set finished_at = finished_at - interval '2 h' where id = $1",
    tasks[0]!.id,
  );
  expect(await stats(queue.admin, 3_600_000)).toMatchObject({ completed: 1 });
  expect(await stats(queue.admin, 3 * 3_600_000)).toMatchObject({ completed: 2, completed_per_minute: 0.01 });
});

test('what a worker waits for until it is idle is told apart from what is left for later', async () => {
  const worker = await registerWorker(queue.admin);
  const unfinished = () => countUnfinished(queue.admin, ['work'], null);
  expect(await unfinished()).toEqual({ unfinished: 0, nextDueMs: null, leftForLater: {} });
  await enqueue(queue.admin);
  await worker.settle(outcome(await claimOne(worker), 'snoozed', { delay_ms: 60_000 }));
  await enqueue(queue.admin, { delay_ms: 120_000 });
  await enqueue(queue.admin, { queue: 'paused' });
  await queue.admin.rows("select taskq.pause_queue('paused')");
  await knowTypes(queue.admin.client, 'other');
  await queue.admin.rows("select taskq.enqueue('other')");
  const found = await unfinished();
  expect(found).toMatchObject({
    unfinished: 1,
    leftForLater: { scheduled: 1, in_paused_queues: 1, of_other_types: 1 },
  });
  expect(found.nextDueMs).toBeGreaterThan(50_000);
  expect(found.nextDueMs).toBeLessThanOrEqual(60_000);
  await enqueue(queue.admin);
  await claimOne(worker);
  expect(await unfinished()).toMatchObject({ unfinished: 2 });
  expect(await countUnfinished(queue.admin, ['work'], ['paused'])).toMatchObject({ unfinished: 0 });
});
