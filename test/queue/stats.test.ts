import { expect, test } from 'vitest';
import { stats } from '../../src/queue/inspect/stats.ts';
import { countUnfinished } from '../../src/queue/protocol/count-unfinished.ts';
import { knowTypes } from '../support/know-types.ts';
import { enqueue, enqueueSome } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

test('an empty database has nothing to count', async () => {
  expect(await stats(queue.admin, 3_600_000)).toMatchObject({
    queues: [],
    types: [],
    due: 0,
    depth: 0,
    oldest_waiting_ms: null,
    completed: 0,
    completed_per_minute: 0,
    unhandled_types: [],
    workers: 0,
  });
});

const NONE_LIVE = { blocked: 0, pending: 0, leased: 0, running: 0, dead: 0 };
const NONE_ENDED = { completed: 0, cancelled: 0, expired: 0 };

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
      counts: { ...NONE_LIVE, pending: 1 },
      due: 0,
      depth: 0,
      oldest_waiting_ms: null,
      retrying: 0,
      ended: NONE_ENDED,
      paused: true,
    },
    {
      queue: 'default',
      counts: { ...NONE_LIVE, pending: 2, dead: 1 },
      due: 1,
      depth: 0,
      retrying: 1,
      ended: { ...NONE_ENDED, completed: 1 },
      paused: false,
    },
  ]);
  expect(found.types).toMatchObject([
    { type: 'stranger', live: 1, due: 1, depth: 0, dead: 0, completed: 0, average_ms: null, handled: false },
    { type: 'work', live: 2, due: 0, dead: 1, completed: 1, handled: true },
  ]);
  expect(found).toMatchObject({
    due: 1,
    depth: 0,
    completed: 1,
    completed_per_minute: 1,
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

test('running tasks past their timeout are counted, whoever has set it', async () => {
  const worker = await registerWorker(queue.admin);
  const past = async () => {
    const { queues, types } = await stats(queue.admin, 3_600_000);
    return [queues[0]!.timed_out, types[0]!.timed_out];
  };
  await enqueue(queue.admin, { timeout_ms: 4000 });
  await enqueue(queue.admin, { timeout_ms: 60_000 });
  await enqueueSome(queue.admin, 3);
  await worker.claim({ start: 4 });
  await queue.admin.rows(
    "update taskq.tasks set started_at = started_at - interval '5 s' where status = 'running'",
  );
  expect(await past()).toEqual([1, 1]);
  await queue.admin.rows('select taskq.set_defaults(\'{"timeout_ms": 3000}\')');
  expect(await past()).toEqual([3, 3]);
  await queue.admin.rows("select taskq.set_queue('default', '{\"timeout_ms\": 9000}')");
  expect(await past()).toEqual([1, 1]);
  await queue.admin.rows("select taskq.set_type('work', '{\"timeout_ms\": 1000}')");
  expect(await past()).toEqual([3, 3]);
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
  expect(await stats(queue.admin, 3 * 3_600_000)).toMatchObject({ completed: 2 });
});

test('the rate counts from the first task, not from the beginning of the time asked for', async () => {
  const worker = await registerWorker(queue.admin);
  await enqueueSome(queue.admin, 30);
  const tasks = await worker.claim({ start: 30 });
  await worker.settle(...tasks.map((task) => outcome(task, 'completed')));
  await queue.admin.rows(
    "update taskq.finished_tasks set started_at = clock_timestamp() - interval '10 min'",
  );
  expect((await stats(queue.admin, 86_400_000)).completed_per_minute).toBeCloseTo(3, 1);
  expect((await stats(queue.admin, 300_000)).completed_per_minute).toBeCloseTo(6, 1);
});

test('a queue or type with nothing but ended tasks is there, and so is a queue that is only paused', async () => {
  const ids = await enqueueSome(queue.admin, 4, { queue: 'over' });
  await queue.admin.rows('select taskq.cancel($1)', ids);
  await queue.admin.rows("select taskq.pause_queue('still')");
  const found = await stats(queue.admin, 3_600_000);
  expect(found.queues).toEqual([
    {
      ...{ queue: 'over', counts: NONE_LIVE, ended: { ...NONE_ENDED, cancelled: 4 }, paused: false },
      ...{ due: 0, depth: 0, oldest_waiting_ms: null, retrying: 0, timed_out: 0, limited_by: null },
    },
    {
      ...{ queue: 'still', counts: NONE_LIVE, ended: NONE_ENDED, paused: true },
      ...{ due: 0, depth: 0, oldest_waiting_ms: null, retrying: 0, timed_out: 0, limited_by: null },
    },
  ]);
  expect(found.types).toEqual([
    {
      ...{ type: 'work', live: 0, due: 0, depth: 0, dead: 0, completed: 0, cancelled: 4, expired: 0 },
      ...{ average_ms: null, handled: false, timed_out: 0 },
    },
  ]);
});

test('depth is what is due and can run: not paused, and of a type and queue that a live worker serves', async () => {
  const depth = async () => (await stats(queue.admin, 1000)).depth;
  const worker = await registerWorker(queue.admin, { work: {} });
  await enqueueSome(queue.admin, 2);
  await enqueue(queue.admin, { queue: 'held' });
  await enqueue(queue.admin, { delay_ms: 60_000 });
  await knowTypes(queue.admin.client, 'other');
  await queue.admin.rows("select taskq.enqueue('other')");
  expect(await depth()).toBe(3);
  await queue.admin.rows("select taskq.pause_queue('held')");
  expect(await depth()).toBe(2);
  await queue.admin.rows("update taskq.workers set queues = '{elsewhere}'");
  expect(await depth()).toBe(0);
  // While no worker lives, what one has handled counts: somebody has to start one.
  await queue.admin.rows('select taskq.unregister_worker($1)', worker.id);
  await queue.admin.rows("update taskq.task_types set last_seen_at = null where name = 'other'");
  expect(await depth()).toBe(2);
});

test('tasks that --until-idle waits for are counted apart from those left for later', async () => {
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

test('a queue names the limit that keeps its tasks from starting', async () => {
  await queue.admin.rows(`select taskq.set_queue('most', '{"max_running": 1}')`);
  await queue.admin.rows(`select taskq.set_queue('rated', '{"rate": "1/1h"}')`);
  const worker = await registerWorker(queue.admin);
  const limitedBy = async () =>
    Object.fromEntries((await stats(queue.admin, 1000)).queues.map((one) => [one.queue, one.limited_by]));
  for (const name of ['most', 'rated', 'free']) await enqueueSome(queue.admin, 2, { queue: name });
  expect(await limitedBy()).toEqual({ most: null, rated: null, free: null });
  await worker.claim({ queues: ['most', 'rated', 'free'], start: 10 });
  expect(await limitedBy()).toEqual({ most: 'max_running', rated: 'rate', free: null });
  await queue.admin.rows("select taskq.cancel(array_agg(id)) from taskq.tasks where status = 'pending'");
  expect(await limitedBy()).toEqual({ most: null, rated: null, free: null });
});

test('of a group no more are due than its rate allows now', async () => {
  await queue.admin.rows(
    `select taskq.set_group('default', 'ann', '{"rate": "2/1h", "burst": 2, "limit": 5}')`,
  );
  await enqueueSome(queue.admin, 5, { group: 'ann' });
  expect(await stats(queue.admin, 3_600_000)).toMatchObject({ due: 2 });
  const worker = await registerWorker(queue.admin);
  expect(await worker.claim({ start: 5 })).toHaveLength(2);
  expect(await stats(queue.admin, 3_600_000)).toMatchObject({ due: 0 });
});
