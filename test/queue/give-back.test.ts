import { expect, test } from 'vitest';
import { giveBack } from '../../src/queue/protocol/give-back.ts';
import {
  deadRow,
  enqueue,
  enqueueSome,
  finishedRow,
  lapse,
  liveRow,
  makeDue,
  refuseChanges,
  refuseTask,
  rescueAll,
} from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

test('a task given back waits again at its old place, and no attempt is burned', async () => {
  const id = await enqueue(queue.admin);
  const place = (await liveRow(queue.admin, id))!.available_at;
  const worker = await registerWorker(queue.admin);
  const task = await claimOne(worker);
  expect(await worker.giveBack([task])).toMatchObject([{ id, lease_no: task.lease_no, answer: 'recorded' }]);
  const row = await liveRow(queue.admin, id);
  expect(row).toMatchObject({
    status: 'pending',
    lease_owner: null,
    lease_expires_at: null,
    attempts: 0,
    losses: 0,
    releases: 1,
    available_at: place,
  });
  const again = await claimOne(worker);
  expect(again.id).toBe(id);
  expect(new Set([task.lease_no, row!.lease_no, again.lease_no]).size).toBe(3);
});

test('the library answers each task', async () => {
  const [a, b] = await enqueueSome(queue.admin, 2);
  const worker = await registerWorker(queue.admin);
  const tasks = await worker.claim({ start: 2 });
  const given = tasks.map((task) => ({
    id: task.id,
    leaseNo: task.id === b ? 99 : task.lease_no,
    started: true,
  }));
  const answers = await giveBack(queue.admin, worker.id, given);
  expect(answers.toSorted((x, y) => Number(x.id) - Number(y.id))).toEqual([
    {
      id: a,
      leaseNo: tasks.find(({ id }) => id === a)!.lease_no,
      answer: 'recorded',
      status: null,
      refusal: null,
    },
    { id: b, leaseNo: 99, answer: 'lost', status: null, refusal: null },
  ]);
});

test('one that was claimed ahead counts nothing, however often', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  for (let round = 0; round < 12; round++) {
    await worker.giveBack([await claimOne(worker, { ahead: 1 })], false);
  }
  expect(await liveRow(queue.admin, id)).toMatchObject({ releases: 0, status: 'pending' });
});

test('a started one is a dead letter at the tenth time in a row, which says so', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  for (let round = 1; round < 10; round++) await worker.giveBack([await claimOne(worker)]);
  expect(await liveRow(queue.admin, id)).toMatchObject({ releases: 9, status: 'pending' });
  expect(await worker.giveBack([await claimOne(worker)])).toMatchObject([
    { answer: 'recorded', extra: { status: 'dead' } },
  ]);
  expect(await liveRow(queue.admin, id)).toBeUndefined();
  expect(await deadRow(queue.admin, id)).toMatchObject({
    reason: 'given_back_too_often',
    releases: 10,
    attempts: 0,
  });
});

test('an outcome in between begins the count anew', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  for (let round = 1; round < 10; round++) await worker.giveBack([await claimOne(worker)]);
  await worker.settle(outcome(await claimOne(worker), 'snoozed', { delay_ms: 0 }));
  await makeDue(queue.admin, [id]);
  await worker.giveBack([await claimOne(worker)]);
  expect(await liveRow(queue.admin, id)).toMatchObject({ releases: 1 });
});

test('one with a request to cancel is cancelled instead', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  const task = await claimOne(worker);
  await queue.admin.rows("select taskq.cancel($1, 'enough')", [id]);
  expect(await worker.giveBack([task])).toMatchObject([
    { answer: 'recorded', extra: { status: 'cancelled' } },
  ]);
  expect(await finishedRow(queue.admin, id)).toMatchObject({ status: 'cancelled', cancel_reason: 'enough' });
});

test('a lease that is no longer held is lost, and nothing is written', async () => {
  const [rescued, twice, settled] = await enqueueSome(queue.admin, 3);
  const worker = await registerWorker(queue.admin);
  const tasks = await worker.claim({ start: 3 });
  await lapse(queue.admin, [rescued!]);
  await rescueAll(queue.admin, worker.id);
  await worker.giveBack(tasks.slice(1, 2));
  await worker.settle(outcome(tasks[2]!, 'failed', { error: {} }));
  const before = await queue.admin.rows('select * from taskq.tasks order by id');
  expect((await worker.giveBack(tasks)).map(({ id, answer }) => [id, answer])).toEqual([
    [rescued, 'lost'],
    [twice, 'lost'],
    [settled, 'lost'],
  ]);
  expect(await queue.admin.rows('select * from taskq.tasks order by id')).toEqual(before);
});

test('of two leases of one task in one call, only the one that holds it is given back', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  const stale = await claimOne(worker);
  await worker.giveBack([stale], false);
  const current = await claimOne(worker);
  const answers = await worker.giveBack([stale, current]);
  expect(new Map(answers.map(({ lease_no, answer }) => [lease_no, answer]))).toEqual(
    new Map([
      [stale.lease_no, 'lost'],
      [current.lease_no, 'recorded'],
    ]),
  );
  expect(await liveRow(queue.admin, id)).toMatchObject({ status: 'pending', releases: 1 });
});

test('a row that another transaction has locked is busy, the others are given back at once', async () => {
  const [locked, free] = await enqueueSome(queue.admin, 2);
  const worker = await registerWorker(await queue.session());
  const tasks = await worker.claim({ start: 2 });
  await worker.session.rows("set statement_timeout = '20s'");
  await queue.admin.rows('begin');
  await queue.admin.rows("update taskq.tasks set tags = '{}' where id = $1", locked);
  expect((await worker.giveBack(tasks)).map((answer) => answer.answer)).toEqual(['busy', 'recorded']);
  await queue.admin.rows('commit');
  expect((await worker.giveBack(tasks)).map((answer) => answer.answer)).toEqual(['recorded', 'lost']);
  expect(await liveRow(queue.admin, free!)).toMatchObject({ status: 'pending', releases: 1 });
});

test('one that a trigger keeps from its end is busy, and all others are given back', async () => {
  const ids = await enqueueSome(queue.admin, 3);
  const worker = await registerWorker(queue.admin);
  const tasks = await worker.claim({ start: 3 });
  await queue.admin.rows('update taskq.tasks set releases = 9 where id = $1', ids[1]);
  await refuseTask(queue.admin, 'dead_tasks', ids[1]!);
  expect(await worker.giveBack(tasks)).toMatchObject([
    { id: ids[0], answer: 'recorded' },
    { id: ids[1], answer: 'busy', extra: { error: 'not allowed by the application' } },
    { id: ids[2], answer: 'recorded' },
  ]);
  expect(await liveRow(queue.admin, ids[1]!)).toMatchObject({
    lease_no: tasks[1]!.lease_no,
    releases: 9,
    lease_owner: worker.id,
  });
});

test('one that a trigger refuses only at the commit is busy, and all others are given back', async () => {
  const ids = await enqueueSome(queue.admin, 3);
  const worker = await registerWorker(queue.admin);
  const tasks = await worker.claim({ start: 3 });
  await refuseChanges(queue.admin, 'create constraint trigger', `old.id = ${ids[1]}`);
  expect(await worker.giveBack(tasks)).toMatchObject([
    { id: ids[0], answer: 'recorded' },
    { id: ids[1], answer: 'busy', extra: { error: 'not allowed by the application' } },
    { id: ids[2], answer: 'recorded' },
  ]);
});
