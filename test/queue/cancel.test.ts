import { describe, expect, test } from 'vitest';
import { cancel } from '../../src/queue/operate/cancel.ts';
import { getEnds } from '../../src/queue/protocol/get-ends.ts';
import { listenTo } from './listening.ts';
import { enqueue, enqueueSome, finishedRow, lapse, liveRow, rescueAll } from './rows.ts';
import { useDatabase } from './session.ts';
import { waitUntil } from './waiting.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

test('a waiting task ends at once, as cancelled, with the reason', async () => {
  const id = await enqueue(queue.admin, { delay_ms: 60_000, key: 'k' });
  expect(await cancel(queue.admin, [id], 'by hand')).toEqual([{ id, answer: 'cancelled', status: null }]);
  expect(await finishedRow(queue.admin, id)).toMatchObject({
    status: 'cancelled',
    cancel_reason: 'by hand',
    started_at: null,
  });
  expect(await enqueue(queue.admin, { key: 'k' })).not.toBe(id);
});

test('for a held task the request is stored and its worker is notified', async () => {
  const [running, ahead] = await enqueueSome(queue.admin, 2);
  const worker = await registerWorker(queue.admin);
  const [claimed] = await worker.claim({ start: 1, ahead: 1 });
  const listener = await queue.directSession();
  const received: (string | undefined)[] = [];
  listener.client.on('notification', ({ payload }) => received.push(payload));
  await listener.rows('listen taskq_cancel');
  expect(await cancel(queue.admin, [running!, ahead!], 'why')).toEqual([
    { id: running, answer: 'requested', status: null },
    { id: ahead, answer: 'requested', status: null },
  ]);
  expect(await liveRow(queue.admin, running!)).toMatchObject({
    status: 'running',
    cancel_reason: 'why',
    lease_no: claimed!.lease_no,
  });
  expect(await liveRow(queue.admin, ahead!)).toMatchObject({ status: 'leased', cancel_reason: 'why' });
  await waitUntil(async () => received.length > 0, 'the worker was not told');
  expect(received).toEqual([String(worker.id)]);
});

test('asked twice, the first time and the last reason stand', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  await claimOne(worker);
  await cancel(queue.admin, [id], 'first');
  const before = (await liveRow(queue.admin, id))!;
  await cancel(queue.admin, [id], 'second');
  expect(await liveRow(queue.admin, id)).toMatchObject({
    cancel_requested_at: before.cancel_requested_at,
    cancel_reason: 'second',
  });
  await cancel(queue.admin, [id]);
  expect(await liveRow(queue.admin, id)).toMatchObject({ cancel_reason: 'second' });
});

test('what is finished, dead, or unknown is not live, and every id is answered once', async () => {
  const [done, dead, waiting] = await enqueueSome(queue.admin, 3);
  const worker = await registerWorker(queue.admin);
  const tasks = await worker.claim({ start: 2 });
  await worker.settle(outcome(tasks[0]!, 'completed'), outcome(tasks[1]!, 'dead', { reason: 'r' }));
  expect(await cancel(queue.admin, [waiting!, '999999999', dead!, done!, waiting!])).toEqual([
    { id: done, answer: 'not_live', status: 'completed' },
    { id: dead, answer: 'not_live', status: 'dead' },
    { id: waiting, answer: 'cancelled', status: null },
    { id: '999999999', answer: 'not_live', status: null },
  ]);
  expect(await cancel(queue.admin, [waiting!])).toEqual([
    { id: waiting, answer: 'not_live', status: 'cancelled' },
  ]);
});

test('a waiter is notified that the task has ended', async () => {
  const id = await enqueue(queue.admin, { notify_done: true, retention: 'none' });
  const listener = await queue.directSession();
  const received: (string | undefined)[] = [];
  listener.client.on('notification', ({ payload }) => received.push(payload));
  await listener.rows('listen taskq_done');
  await cancel(queue.admin, [id]);
  await waitUntil(async () => received.length > 0, 'the waiter was not told');
  expect(received).toEqual([id]);
  expect(await queue.admin.rows('select id, status, reason, live from taskq.get_ends($1)', [id])).toEqual([
    { id, status: 'cancelled', reason: null, live: false },
  ]);
});

test('it waits at most a second for a locked task', async () => {
  const id = await enqueue(queue.admin);
  const other = await queue.session();
  await other.rows('begin');
  await other.rows("update taskq.tasks set tags = '{}' where id = $1", id);
  await expect(cancel(queue.admin, [id])).rejects.toMatchObject({ code: '55P03' });
  await other.rows('rollback');
});

describe('who waits for the end of a running one', () => {
  test('is notified, and finds the task whatever its retention', async () => {
    const id = await enqueue(queue.admin, { retention: 'none' });
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    const done = await listenTo(queue, 'taskq_done');
    await cancel(queue.admin, [id], null, { notifyDone: true });
    await worker.settle(outcome(task, 'cancelled'));
    await done.untilReceived();
    expect(done.received).toEqual([id]);
    expect(await getEnds(queue.admin, [id])).toMatchObject([
      { status: 'cancelled', ending: null, live: false },
    ]);
  });

  test('learns that the handler had to be killed, of each by itself', async () => {
    const [killed, willing] = await enqueueSome(queue.admin, 2);
    const worker = await registerWorker(queue.admin);
    const tasks = await worker.claim({ start: 2 });
    await cancel(queue.admin, [killed!, willing!]);
    await worker.settle(outcome(tasks[0]!, 'cancelled', { killed: true }), outcome(tasks[1]!, 'cancelled'));
    const ends = await getEnds(queue.admin, [killed!, willing!]);
    expect(ends.toSorted((a, b) => Number(a.id) - Number(b.id))).toMatchObject([
      { id: killed, ending: 'killed' },
      { id: willing, ending: null },
    ]);
  });

  test('learns that its worker was lost', async () => {
    const id = await enqueue(queue.admin);
    await claimOne(await registerWorker(queue.admin));
    await cancel(queue.admin, [id]);
    await queue.admin.rows('delete from taskq.workers');
    await lapse(queue.admin, [id]);
    await rescueAll(queue.admin);
    expect(await getEnds(queue.admin, [id])).toMatchObject([{ status: 'cancelled', ending: 'worker_lost' }]);
  });

  test('learns that it finished first', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    await cancel(queue.admin, [id]);
    await worker.settle(outcome(task, 'completed', { result: 1 }));
    expect(await getEnds(queue.admin, [id])).toMatchObject([{ status: 'completed', ending: null }]);
  });
});
