import { expect, test } from 'vitest';
import { pauseQueue, resumeQueue } from '../../src/queue/operate/pause-queue.ts';
import { enqueue, enqueueSome } from './rows.ts';
import { useDatabase } from './session.ts';
import { waitUntil } from './waiting.ts';
import { outcome, registerWorker } from './worker.ts';

const queue = useDatabase();
const pause = { by: 'ann', reason: 'deploy', forMs: null };

test('a paused queue gives nothing, others go on, and what runs there runs on', async () => {
  await enqueueSome(queue.admin, 2);
  const other = await enqueue(queue.admin, { queue: 'other' });
  const worker = await registerWorker(queue.admin);
  const [running] = await worker.claim();
  await pauseQueue(queue.admin, 'default', pause);
  expect(await worker.claim({ start: 9, queues: ['default', 'other'] })).toMatchObject([{ id: other }]);
  expect(await worker.heartbeat([running!])).toMatchObject([{ answer: 'renewed' }]);
  expect(await worker.settle(outcome(running!, 'completed'))).toMatchObject([{ answer: 'recorded' }]);
  expect(
    await queue.admin.row('select name, paused_by, pause_reason, paused_until from taskq.queues'),
  ).toEqual({
    name: 'default',
    paused_by: 'postgres (ann)',
    pause_reason: 'deploy',
    paused_until: null,
  });
});

test('resumed it goes on, its workers are woken from its beginning, and its settings stay', async () => {
  await queue.admin.rows("insert into taskq.queues (name, max_attempts) values ('default', 9)");
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  await pauseQueue(queue.admin, 'default', pause);
  const listener = await queue.directSession();
  const received: (string | undefined)[] = [];
  listener.client.on('notification', ({ payload }) => received.push(payload));
  await listener.rows('listen taskq_wake');
  expect(await resumeQueue(queue.admin, 'default')).toBe(true);
  await waitUntil(async () => received.length > 0, 'nobody was woken');
  expect(received.map((payload) => JSON.parse(payload!))).toEqual([{ queue: 'default', from_us: 0 }]);
  expect(await worker.claim()).toMatchObject([{ id }]);
  expect(await queue.admin.value('select max_attempts from taskq.queues')).toBe(9);
});

test('what was not paused is not resumed', async () => {
  expect(await resumeQueue(queue.admin, 'default')).toBe(false);
});

test('pausing again replaces who, why and how long', async () => {
  await pauseQueue(queue.admin, 'default', pause);
  await pauseQueue(queue.admin, 'default', { by: 'bob', reason: null, forMs: 60_000 });
  const row =
    "select paused_by, pause_reason, paused_until between clock_timestamp() and clock_timestamp() + interval '1 min' as for_a_minute from taskq.queues";
  expect(await queue.admin.row(row)).toEqual({
    paused_by: 'postgres (bob)',
    pause_reason: null,
    for_a_minute: true,
  });
});

test('a queue that cannot be, and a pause of no time, are refused', async () => {
  const refusal = (message: string) => ({ code: '22023', message: expect.stringContaining(message) });
  for (const name of ['', 'x'.repeat(201), null as unknown as string]) {
    await expect(pauseQueue(queue.admin, name, pause)).rejects.toMatchObject(refusal('pause_queue: queue '));
  }
  for (const forMs of [-1, 0, 3_155_760_000_001]) {
    await expect(pauseQueue(queue.admin, 'default', { ...pause, forMs })).rejects.toMatchObject(
      refusal(`pause_queue: ms ${forMs}: expected milliseconds, a whole number from 1 `),
    );
  }
  expect(await queue.admin.value('select count(*)::int from taskq.queues')).toBe(0);
});

test('a pause ends by itself: tasks of the queue are claimed again without an order', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  await pauseQueue(queue.admin, 'default', { ...pause, forMs: 60_000 });
  expect(await worker.claim()).toEqual([]);
  await queue.admin.rows("update taskq.queues set paused_until = clock_timestamp() - interval '1 ms'");
  expect(await worker.claim()).toMatchObject([{ id }]);
});

test('a worker that goes to sleep gets the time when the first pause of its queues ends', async () => {
  await enqueue(queue.admin);
  await enqueue(queue.admin, { queue: 'other' });
  const worker = await registerWorker(queue.admin);
  await pauseQueue(queue.admin, 'default', { ...pause, forMs: 600_000 });
  await pauseQueue(queue.admin, 'other', { ...pause, forMs: 60_000 });
  const dueMs = (queues: string[] | null) =>
    queue.admin.value<number>('select due_ms from taskq.mark_idle($1, $2, 1000)', worker.id, queues);
  expect(await dueMs(null)).toBeGreaterThan(1000);
  expect(await dueMs(null)).toBeLessThanOrEqual(60_000);
  expect(await dueMs(['default'])).toBeGreaterThan(60_000);
  await pauseQueue(queue.admin, 'default', pause);
  expect(await dueMs(['default'])).toBeNull();
});
