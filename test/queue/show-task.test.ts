import { expect, test } from 'vitest';
import { showTask } from '../../src/queue/show-task.ts';
import { enqueue, lapse, rescueAll } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

test('everything is shown, with every attempt and who made it', async () => {
  const id = await enqueue(queue.admin, { priority: 1 }, { n: 1 });
  const worker = await registerWorker(queue.admin);
  await worker.settle(
    outcome(await claimOne(worker), 'failed', { error: { message: 'one' }, delay_ms: 0, ran_ms: 5 }),
  );
  await claimOne(worker);
  await lapse(queue.admin, [id]);
  await rescueAll(queue.admin, worker.id);
  await worker.settle(outcome(await claimOne(worker), 'completed', { result: { sent: true } }));
  const task = (await showTask(queue.admin, id))!;
  expect(task).toMatchObject({
    id,
    status: 'completed',
    queue: 'default',
    type: 'work',
    priority: 1,
    payload: { n: 1 },
    result: { sent: true },
    attempts: 1,
    lease_owner: 'plain:1:a',
    lease_no: 4,
  });
  expect(task.errors).toMatchObject([
    {
      attempt: 1,
      outcome: 'failed',
      error: { message: 'one' },
      ran_ms: 5,
      lease_owner: 'plain:1:a',
      lease_no: 1,
    },
    { attempt: 1, outcome: 'lost', error: { name: 'WorkerLost' }, retry_at: null, lease_no: 2 },
  ]);
  expect(task.updated_at).toBe(task.finished_at);
});

test('a task that never was is not shown', async () => {
  expect(await showTask(queue.admin, '999999999')).toBeUndefined();
});

test('all_tasks derives when a task was last changed', async () => {
  const id = await enqueue(queue.admin);
  const updated = (column: string) =>
    queue.admin.value(`select updated_at = ${column} from taskq.all_tasks where id = $1`, id);
  expect(await updated('created_at')).toBe(true);
  const worker = await registerWorker(queue.admin);
  const task = await claimOne(worker);
  expect(await updated('started_at')).toBe(true);
  await queue.admin.rows('select taskq.cancel($1)', [id]);
  expect(await updated('cancel_requested_at')).toBe(true);
  await worker.settle(outcome(task, 'completed'));
  expect(await updated('finished_at')).toBe(true);
});

test('what applies is told with whose setting it is: the task, else its type, else its queue, else the defaults', async () => {
  const applies = async (id: string) => (await showTask(queue.admin, id))!.applies;
  const id = await enqueue(queue.admin, { queue: 'mail' });
  const ends = [await enqueue(queue.admin, { queue: 'mail' }), await enqueue(queue.admin, { queue: 'mail' })];
  await queue.admin.rows('select taskq.cancel($1)', [ends[0]]);
  await queue.admin.rows("select taskq.move_to_dead($1, '{r}', clock_timestamp())", [ends[1]]);
  for (const one of [id, ...ends]) {
    expect(await applies(one)).toMatchObject({
      max_attempts: { value: 3, from: 'defaults' },
      timeout_ms: { value: null, from: 'defaults' },
      backoff: { value: { kind: 'exponential' }, from: 'defaults' },
      retention: { value: '7d', from: 'defaults' },
    });
  }
  await queue.admin.rows(
    `select taskq.set_queue('mail', '{"max_attempts": 8, "timeout_ms": 1000, "retention": "9d"}')`,
  );
  for (const one of [id, ...ends]) {
    expect(await applies(one)).toMatchObject({
      max_attempts: { value: 8, from: 'queue' },
      timeout_ms: { value: 1000, from: 'queue' },
      retention: { value: '9d', from: 'queue' },
    });
  }
  await registerWorker(queue.admin, { work: { max_attempts: 5, backoff: { kind: 'fixed', base_ms: 1 } } });
  const own = await enqueue(queue.admin, { queue: 'mail', max_attempts: 2_147_483_647, retention: 'ever' });
  expect(await applies(id)).toMatchObject({
    max_attempts: { value: 5, from: 'type' },
    backoff: { value: { kind: 'fixed', base_ms: 1 }, from: 'type' },
    timeout_ms: { value: 1000, from: 'queue' },
  });
  expect(await applies(own)).toMatchObject({
    max_attempts: { value: 'unlimited', from: 'task' },
    retention: { value: 'ever', from: 'task' },
  });
});
