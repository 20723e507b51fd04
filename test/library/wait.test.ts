import { describe, expect, test } from 'vitest';
import { type PgPool, TaskQueue } from '../../src/index.ts';
import { waitUntil } from '../queue/waiting.ts';
import { claimOne, outcome, registerWorker } from '../queue/worker.ts';
import { openWay } from '../worker/support/proxy.ts';
import { openPool, useLibrary } from './use-queue.ts';

const library = useLibrary();

async function settleOne(kind: string, more: object = {}): Promise<void> {
  const worker = await registerWorker(library.admin);
  await worker.settle(outcome(await claimOne(worker), kind, more));
}

/** Wait until somebody has asked to be told of a task's end. */
const isWaitedFor = (id: string) =>
  waitUntil(
    () => library.admin.value<boolean>('select notify_done from taskq.tasks where id = $1', id),
    'nobody waits for it',
  );

describe('wait', () => {
  test.each([
    ['completed', { result: { sent: 1 } }, { status: 'completed', result: { sent: 1 }, resultNote: null }],
    ['dead', { reason: 'no such mailbox' }, { status: 'dead', reason: 'no such mailbox' }],
    ['cancelled', { reason: 'not wanted' }, { status: 'cancelled', reason: 'not wanted', ending: null }],
  ])('says how a task ended: %s', async (kind, more, end) => {
    const queue = library.open();
    const { id } = await queue.enqueue('work');
    const waiting = queue.wait(id);
    await isWaitedFor(id);
    await settleOne(kind, more);
    expect(await waiting).toMatchObject({ id, type: 'work', ...end });
    expect(await queue.wait(id)).toMatchObject(end);
  });

  test('gets the result of a task that leaves nothing else behind', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('work', {}, { retention: 'none' });
    const waiting = queue.wait(id);
    await isWaitedFor(id);
    await settleOne('completed', { result: 42 });
    expect(await waiting).toMatchObject({ status: 'completed', result: 42 });
  });

  test('finds the end of a task that left nothing else behind before, where it was announced', async () => {
    const queue = library.open();
    const notifyDone = true;
    const options = { retention: 'none' };
    const { id } = await queue.enqueue('work', {}, { ...options, notifyDone });
    await settleOne('completed', { result: 42 });
    expect(await queue.wait(id)).toMatchObject({ status: 'completed', result: 42 });
    const ids: string[] = [];
    const onEnqueued = (answers: readonly { readonly id: string }[]) =>
      ids.push(...answers.map((answer) => answer.id));
    await queue.enqueueMany([{ type: 'work', ...options }], { notifyDone, onEnqueued });
    await settleOne('completed', { result: 43 });
    expect(await queue.wait(ids[0]!)).toMatchObject({ status: 'completed', result: 43 });
    const forgotten = await queue.enqueue('work', {}, options);
    await settleOne('completed');
    await expect(queue.wait(forgotten.id)).rejects.toMatchObject({ code: 'no_such_task' });
  });

  test('listens past a pooler, and does not only poll', async () => {
    const queue = library.open({ directUrl: library.directUrl });
    const { id } = await queue.enqueue('work');
    const waiting = queue.wait(id);
    const listening = `select exists (select from pg_stat_activity where query = 'listen taskq_done'
      and datname = current_database())`;
    await waitUntil(() => library.admin.value<boolean>(listening), 'nobody listens');
    await settleOne('completed');
    expect(await waiting).toMatchObject({ status: 'completed' });
  });

  test('that is over says so, and the task goes on', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('work');
    await expect(queue.wait(id, { timeout: '50ms' })).rejects.toMatchObject({
      name: 'WaitDeadlineError',
      code: 'wait_deadline',
      id,
    });
    expect(await queue.get(id)).toMatchObject({ status: 'pending' });
  });

  test('ends with the reason of its signal', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('work');
    const stop = new AbortController();
    const waiting = queue.wait(id, { signal: stop.signal });
    stop.abort(new Error('the user has gone'));
    await expect(waiting).rejects.toThrow('the user has gone');
    await expect(queue.wait(id, { signal: stop.signal })).rejects.toThrow('the user has gone');
  });

  test('ends with the queue', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('work');
    const waiting = expect(queue.wait(id)).rejects.toMatchObject({ code: 'closed' });
    await isWaitedFor(id);
    await queue.close();
    await waiting;
  });

  test('for a task that nothing is known of says so', async () => {
    await expect(library.open().wait('4711')).rejects.toMatchObject({
      name: 'NoSuchTaskError',
      code: 'no_such_task',
      id: '4711',
    });
  });

  test('of a thousand at a time costs two sessions', async () => {
    const queue = library.open();
    const ids: string[] = [];
    await queue.enqueueMany(
      Array.from({ length: 1000 }, () => ({ type: 'work' })),
      {
        onEnqueued: (answers) => ids.push(...answers.map(({ id }) => id)),
      },
    );
    const waiting = Promise.all(ids.map((id) => queue.wait(id)));
    await waitUntil(
      () => library.admin.value<boolean>('select bool_and(notify_done) from taskq.tasks'),
      'some are not waited for',
    );
    const sessions = await library.admin.value<string>(
      "select count(*) from pg_stat_activity where application_name = 'taskq' and datname = current_database()",
    );
    expect(Number(sessions)).toBeLessThanOrEqual(2);
    const worker = await registerWorker(library.admin);
    const tasks = await worker.claim({ start: 1000 });
    await worker.settle(...tasks.map((task) => outcome(task, 'completed', { result: task.id })));
    expect((await waiting).map((end) => end.status === 'completed' && end.result)).toEqual(ids);
  });

  test('of more tasks than a call takes arguments goes on', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('work', {}, { delay: '1h' });
    // Of those nothing is known.
    const others = Array.from({ length: 130_000 }, (_, n) => String(900_000_000_000 + n));
    const waiting = Promise.allSettled(others.map((other) => queue.wait(other)));
    const last = queue.wait(id);
    expect((await waiting).every(({ status }) => status === 'rejected')).toBe(true);
    await queue.cancel(id);
    expect(await last).toMatchObject({ status: 'cancelled' });
  });

  test('outlives a restart of its connections', async () => {
    const way = await openWay(library.url);
    try {
      const queue = library.open({ databaseUrl: way.url });
      const { id } = await queue.enqueue('work');
      const waiting = queue.wait(id);
      await isWaitedFor(id);
      way.reset();
      await settleOne('completed', { result: 1 });
      expect(await waiting).toMatchObject({ result: 1 });
    } finally {
      await way.close();
    }
  });

  test('a wait leaves the only connection of a pool free', async () => {
    const pool = openPool(library.url, 1);
    const queue = library.open({ pool });
    const { id } = await queue.enqueue('work');
    const waiting = queue.wait(id);
    await isWaitedFor(id);
    expect(await queue.list().page()).toMatchObject({ tasks: [{ id }] });
    await settleOne('completed', { result: 1 });
    expect(await waiting).toMatchObject({ result: 1 });
    await queue.close();
    await pool.end();
  });

  test('polls where nothing says how to listen', async () => {
    const pool = openPool(library.url, 2);
    const bare: PgPool = { query: (statement) => pool.query(statement) };
    const queue = new TaskQueue({ pool: bare });
    const { id } = await queue.enqueue('work');
    const waiting = queue.wait(id);
    await isWaitedFor(id);
    await settleOne('completed', { result: 1 });
    expect(await waiting).toMatchObject({ result: 1 });
    await queue.close();
    await pool.end();
  });
});
