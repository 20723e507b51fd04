import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { enqueue, finishedRow, lapse, liveRow, rescueAll, silence } from './rows.ts';
import { useDatabase } from './session.ts';
import { waitUntilBlocked } from './waiting.ts';
import { type Claimed, outcome, type PlainWorker, registerWorker } from './worker.ts';

/* taskq.complete_transaction: the last statement of a handler's own transaction. */

const queue = useDatabase();

const MARK = "set_config('taskq.transaction', 'mine', true)";

async function claimed(): Promise<{ worker: PlainWorker; task: Claimed }> {
  const worker = await registerWorker(await queue.session(), { work: {} });
  await enqueue(queue.admin);
  const [task] = await worker.claim({ start: 1 });
  return { worker, task: task! };
}

async function begun(mark = MARK) {
  const session = await queue.session();
  await session.rows('begin');
  await session.rows(`select ${mark}`);
  const complete = ({ id }: PlainWorker, completed: object) =>
    session.rows("select taskq.complete_transaction($1, $2, 'mine')", id, JSON.stringify(completed));
  return { ...session, complete };
}

test('the end of a task is there when the transaction commits, and not before', async () => {
  const { worker, task } = await claimed();
  const session = await begun();
  await session.complete(worker, outcome(task, 'completed', { result: 7, ran_ms: 3 }));
  expect(await liveRow(queue.admin, task.id)).toMatchObject({ status: 'running' });
  expect(await worker.heartbeat([task])).toMatchObject([{ id: task.id, answer: 'renewed' }]);
  await session.rows('commit');
  expect(await finishedRow(queue.admin, task.id)).toMatchObject({ status: 'completed', result: 7 });
});

test('a transaction that is rolled back leaves the task as it was', async () => {
  const { worker, task } = await claimed();
  const session = await begun();
  await session.complete(worker, outcome(task, 'completed'));
  await session.rows('rollback');
  expect(await liveRow(queue.admin, task.id)).toMatchObject({ status: 'running', lease_no: task.lease_no });
});

test('a worker that has lost the lease, and a repeat, are refused', async () => {
  const { worker, task } = await claimed();
  await lapse(queue.admin, [task.id]);
  await silence(queue.admin, worker.id, 3_600_000);
  await rescueAll(queue.admin);
  const late = await begun();
  await expect(late.complete(worker, outcome(task, 'completed'))).rejects.toMatchObject({ code: '55000' });

  const other = await claimed();
  await other.worker.settle(outcome(other.task, 'failed'));
  const repeat = await begun();
  await expect(repeat.complete(other.worker, outcome(other.task, 'completed'))).rejects.toMatchObject({
    code: '55000',
  });
});

test('only a transaction with its mark completes, and only completes', async () => {
  const { worker, task } = await claimed();
  const other = await begun("set_config('taskq.transaction', 'other', true)");
  await expect(other.complete(worker, outcome(task, 'completed'))).rejects.toMatchObject({ code: '25000' });
  const renewed = await begun();
  await renewed.rows('rollback');
  await renewed.rows('begin');
  await expect(renewed.complete(worker, outcome(task, 'completed'))).rejects.toMatchObject({ code: '25000' });
  await renewed.rows('rollback');
  // Without a transaction at all.
  await expect(renewed.complete(worker, outcome(task, 'completed'))).rejects.toMatchObject({ code: '25000' });
  const failing = await begun();
  await expect(failing.complete(worker, outcome(task, 'failed'))).rejects.toMatchObject({ code: '22023' });
  expect(await liveRow(queue.admin, task.id)).toMatchObject({ status: 'running' });
});

test('it waits for a row that another transaction has locked', async () => {
  const { worker, task } = await claimed();
  const holder = await queue.session();
  await holder.rows('begin');
  await holder.rows("update taskq.tasks set progress = '1' where id = $1", task.id);
  const session = await begun();
  const waiting = session.complete(worker, outcome(task, 'completed'));
  await waitUntilBlocked(queue.admin);
  await holder.rows('commit');
  await waiting;
  await session.rows('commit');
  expect(await finishedRow(queue.admin, task.id)).toMatchObject({ status: 'completed', progress: 1 });
});

test('it waits for the key of a follow-up that a producer has in an open transaction, and fails at last', async () => {
  const { worker, task } = await claimed();
  const options = '{"key": "k", "allow_unknown": true}';
  const producer = await queue.session();
  await producer.rows('begin');
  await producer.rows(`select taskq.enqueue('work', '{}', '${options}')`);
  const completed = outcome(task, 'completed', { enqueue: [{ type: 'work', key: 'k' }] });
  const failing = await begun();
  const began = performance.now();
  await expect(failing.complete(worker, completed)).rejects.toMatchObject({ code: '55P03' });
  expect(performance.now() - began).toBeGreaterThan(4500);
  await failing.rows('rollback');
  const session = await begun();
  const waiting = session.complete(worker, completed);
  await sleep(1200);
  await producer.rows('rollback');
  await waiting;
  await session.rows('commit');
  expect(await finishedRow(queue.admin, task.id)).toMatchObject({ status: 'completed' });
  expect(await queue.admin.rows('select unique_key from taskq.tasks')).toEqual([{ unique_key: 'k' }]);
});
