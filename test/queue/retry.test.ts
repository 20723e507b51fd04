import { expect, test } from 'vitest';
import { addDead } from '../../src/queue/operate/add-dead.ts';
import { cancel } from '../../src/queue/operate/cancel.ts';
import { retry } from '../../src/queue/operate/retry.ts';
import { listenTo } from './listening.ts';
import { enqueue, enqueueSome, liveRow } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

const WAITS = { delay_ms: 3_600_000 };

test('a scheduled task and one that failed are due now, and nothing else of them changes', async () => {
  const worker = await registerWorker(queue.admin);
  const failed = await enqueue(queue.admin, { key: 'k', expires_ms: 86_400_000, max_attempts: 5 });
  await worker.settle(
    outcome(await claimOne(worker), 'failed', { delay_ms: 3_600_000, error: { message: 'm' } }),
  );
  const scheduled = await enqueue(queue.admin, { ...WAITS, expires_ms: 60_000 });
  const before = [await liveRow(queue.admin, failed), await liveRow(queue.admin, scheduled)];

  expect(await retry(queue.admin, [scheduled, failed])).toEqual([
    { id: failed, answer: 'retried', status: null },
    { id: scheduled, answer: 'retried', status: null },
  ]);
  for (const row of before) {
    const { available_at, ...others } = (await liveRow(queue.admin, row!.id as string))!;
    expect(row).toMatchObject(others);
    expect((available_at as Date).getTime()).toBeLessThan((row!.available_at as Date).getTime());
  }
  expect(await worker.claim({ start: 9 })).toMatchObject([
    { id: failed, attempts: 1 },
    { id: scheduled, attempts: 0 },
  ]);
});

test('it is due from now on, not from before: a claim that stands at the present finds it', async () => {
  const worker = await registerWorker(queue.admin);
  const id = await enqueue(queue.admin, WAITS);
  const now = Number(
    await queue.admin.value('select (extract(epoch from clock_timestamp()) * 1000000)::bigint'),
  );
  await retry(queue.admin, [id]);
  const cursor = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? now : 0));
  expect(await worker.claim({ cursor })).toMatchObject([{ id }]);
});

test('one that was due already keeps its place before those that came later', async () => {
  const [first] = await enqueueSome(queue.admin, 2);
  const before = await liveRow(queue.admin, first!);
  expect(await retry(queue.admin, [first!])).toEqual([{ id: first, answer: 'due', status: null }]);
  expect(await liveRow(queue.admin, first!)).toEqual(before);
});

test('a task that is not pending is answered with its status, and every id once', async () => {
  const worker = await registerWorker(queue.admin);
  const [running, ahead, done, dead, cancelled, blocked] = await enqueueSome(queue.admin, 6);
  await queue.admin.rows(
    "update taskq.tasks set status = 'blocked', available_at = 'infinity' where id = $1",
    blocked,
  );
  await addDead(queue.admin, dead!, 'r');
  await cancel(queue.admin, [cancelled!]);
  const tasks = await worker.claim({ start: 2, ahead: 1 });
  await worker.settle(outcome(tasks.find(({ id }) => id === done)!, 'completed'));
  await queue.admin.rows("update taskq.tasks set status = 'leased' where id = $1", ahead);
  const asked = [running, ahead, done, dead, cancelled, blocked, '999999999', dead] as string[];
  expect(await retry(queue.admin, asked)).toEqual([
    { id: running, answer: 'not_waiting', status: 'running' },
    { id: ahead, answer: 'not_waiting', status: 'leased' },
    { id: done, answer: 'not_waiting', status: 'completed' },
    { id: dead, answer: 'not_waiting', status: 'dead' },
    { id: cancelled, answer: 'not_waiting', status: 'cancelled' },
    { id: blocked, answer: 'not_waiting', status: 'blocked' },
    { id: '999999999', answer: 'not_waiting', status: null },
  ]);
  expect(await liveRow(queue.admin, blocked!)).toMatchObject({ available_at: Number.POSITIVE_INFINITY });
});

test('a sleeping worker of the queue is woken', async () => {
  const worker = await registerWorker(queue.admin);
  const ids = await enqueueSome(queue.admin, 3, WAITS);
  await queue.admin.rows('select taskq.mark_idle($1, null, 60000)', worker.id);
  const wakes = await listenTo(queue, 'taskq_wake');
  await retry(queue.admin, ids);
  await wakes.untilReceived();
  expect(wakes.received.map((hint) => JSON.parse(hint).queue)).toEqual(['default']);
});

test('it does not wait for a locked running task, and at most a second for a locked pending one', async () => {
  const worker = await registerWorker(queue.admin);
  const running = await enqueue(queue.admin);
  await claimOne(worker);
  const waiting = await enqueue(queue.admin, WAITS);
  const holder = await queue.session();
  await holder.rows('begin');
  await holder.rows('select from taskq.tasks for update');
  expect(await retry(queue.admin, [running])).toMatchObject([{ status: 'running' }]);
  await expect(retry(queue.admin, [waiting])).rejects.toMatchObject({ code: '55P03' });
});
