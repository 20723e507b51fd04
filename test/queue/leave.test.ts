import { expect, test } from 'vitest';
import { enqueueSome } from './rows.ts';
import { useDatabase } from './session.ts';
import { type Claimed, outcome, type PlainWorker, registerWorker } from './worker.ts';

const queue = useDatabase();

/** Every way out of the live table. Each ends the two tasks given to it. */
const ENDS: Readonly<Record<string, (worker: PlainWorker, tasks: Claimed[]) => Promise<unknown>>> = {
  complete: (worker, tasks) =>
    worker.session.rows(
      'select taskq.complete($1, $2, $3)',
      worker.id,
      tasks.map((task) => task.id),
      tasks.map((task) => task.lease_no),
    ),
  'settle as completed': (worker, tasks) => worker.settle(...tasks.map((task) => outcome(task, 'completed'))),
  'settle as dead': (worker, tasks) =>
    worker.settle(...tasks.map((task) => outcome(task, 'dead', { reason: 'no' }))),
  'settle as cancelled': (worker, tasks) => worker.settle(...tasks.map((task) => outcome(task, 'cancelled'))),
  'the last failed attempt': async (worker, tasks) => {
    await queue.admin.rows('update taskq.tasks set max_attempts = 1');
    await worker.settle(...tasks.map((task) => outcome(task, 'failed')));
  },
  'the tenth give-back': async (worker, tasks) => {
    await queue.admin.rows('update taskq.tasks set releases = 9');
    await worker.giveBack(tasks);
  },
  'the third lost worker': async () => {
    await queue.admin.rows(
      "update taskq.tasks set losses = 2, lease_owner = 7, lease_expires_at = '2020-01-01'",
    );
    await queue.admin.rows('select taskq.rescue(0, 1000)');
  },
  'cancel of waiting tasks': async (worker, tasks) => {
    await worker.giveBack(tasks);
    await queue.admin.rows(
      'select taskq.cancel($1)',
      tasks.map((task) => task.id),
    );
  },
  expire: async (worker, tasks) => {
    await worker.giveBack(tasks, false);
    await queue.admin.rows("update taskq.tasks set started_at = null, expires_at = '2020-01-01'");
    await queue.admin.rows('select taskq.expire(10)');
  },
  add_dead: async (worker, tasks) => {
    await worker.giveBack(tasks);
    for (const { id } of tasks) await queue.admin.rows("select taskq.add_dead($1, 'by hand')", id);
  },
};

test.each(Object.entries(ENDS))('%s asks for a look at the group whose slots come free', async (_, end) => {
  const worker = await registerWorker(await queue.session());
  await enqueueSome(queue.admin, 2);
  const tasks = await worker.claim({ start: 2 });
  await queue.admin.rows("update taskq.tasks set gate = 'h', group_key = 'ann'");
  await end(worker, tasks);
  expect(await queue.admin.value('select count(*)::integer from taskq.tasks')).toBe(0);
  expect(await queue.admin.rows('select distinct queue, key from taskq.asks')).toEqual([
    { queue: 'default', key: 'ann' },
  ]);
});

test.each(Object.entries(ENDS))('%s asks for nothing where the tasks hold no slot', async (_, end) => {
  const worker = await registerWorker(await queue.session());
  await enqueueSome(queue.admin, 2);
  await end(worker, await worker.claim({ start: 2 }));
  expect(await queue.admin.value('select count(*)::integer from taskq.asks')).toBe(0);
  expect(await queue.admin.rows('select from taskq.events')).toEqual([]);
});

/** How the tasks of each way out have ended. */
const RECORDED: Readonly<Record<keyof typeof ENDS, object>> = {
  complete: { status: 'completed', reason: null },
  'settle as completed': { status: 'completed', reason: null },
  'settle as dead': { status: 'dead', reason: 'no' },
  'settle as cancelled': { status: 'cancelled', reason: null },
  'the last failed attempt': { status: 'dead', reason: 'attempts_spent', attempts: 1 },
  'the tenth give-back': { status: 'dead', reason: 'given_back_too_often' },
  'the third lost worker': { status: 'dead', reason: 'worker_lost' },
  'cancel of waiting tasks': { status: 'cancelled', reason: null },
  expire: { status: 'expired', reason: null },
  add_dead: { status: 'dead', reason: 'by hand' },
};

test.each(Object.entries(ENDS))(
  '%s is an event for each task, where the queue records them',
  async (how, end) => {
    await queue.admin.rows(`select taskq.set_queue('default', '{"record_events": true}')`);
    const worker = await registerWorker(await queue.session());
    const ids = await enqueueSome(queue.admin, 2, { tags: { a: 'b' }, group: 'g' });
    await queue.admin.rows("select taskq.enqueue('work', '{}', '{\"queue\": \"other\"}')");
    await queue.admin.rows(
      "update taskq.tasks set gate = null, status = 'pending', available_at = not_before",
    );
    await end(worker, await worker.claim({ queues: ['default', 'other'], start: 3 }));
    const events = await queue.admin.rows('select * from taskq.events_after() order by id');
    expect(events).toMatchObject(
      ids.map((id) => ({
        id,
        queue: 'default',
        type: 'work',
        group_key: 'g',
        tags: { a: 'b' },
        ...RECORDED[how],
      })),
    );
  },
);

test('the ask is part of the transaction that ends the task', async () => {
  const worker = await registerWorker(await queue.session());
  await enqueueSome(queue.admin, 1);
  const [task] = await worker.claim();
  await queue.admin.rows("update taskq.tasks set gate = 'h', group_key = 'ann'");
  await worker.session.rows('begin');
  await worker.settle(outcome(task!, 'completed'));
  expect(await queue.admin.value('select count(*)::integer from taskq.asks')).toBe(0);
  await worker.session.rows('rollback');
  expect(await queue.admin.rows('select from taskq.asks')).toEqual([]);
});
