import { describe, expect, test } from 'vitest';
import type { TaskRecord } from '../../src/index.ts';
import { insertWorkflow } from '../queue/flow/steps.ts';
import { claimOne, outcome, registerWorker } from '../queue/worker.ts';
import { useLibrary } from './use-queue.ts';

const library = useLibrary();

/** Claim the most urgent task of type `work`, and settle it so. */
async function settleOne(kind: string, more: object = {}): Promise<string> {
  const worker = await registerWorker(library.admin);
  const task = await claimOne(worker);
  await worker.settle(outcome(task, kind, more));
  return task.id;
}

test('a task says which step of which workflow it is, and that it waits for its parents', async () => {
  const queue = library.open();
  const { id, tasks } = await insertWorkflow(library.admin, [{ step: 'a' }, { step: 'b', after: ['a'] }]);
  await queue.enqueue('work');
  expect(await queue.get(tasks.b!)).toMatchObject({ workflow: { id, step: 'b' }, waitsFor: 'parents' });
  const { tasks: found } = await queue.list({ workflow: id }).page();
  expect(found.map((task) => [task.id, task.waitsFor])).toEqual([
    [tasks.b, 'parents'],
    [tasks.a, null],
  ]);
  expect((await queue.explain(tasks.b!))!.causes[0]).toMatchObject({
    ...{ cause: 'waiting_for_parents', workflow: id },
    parents: [{ step: 'a', task: tasks.a, status: 'pending' }],
  });
});

describe('explain', () => {
  test('says why a task waits, with times as Dates', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('work', {}, { delay: '1h' });
    expect(await queue.explain(id)).toMatchObject({
      id,
      type: 'work',
      status: 'pending',
      mayStartAt: null,
      causes: [
        { cause: 'delayed', until: expect.any(Date) },
        { cause: 'no_worker', worker: null, until: null },
      ],
    });
    await registerWorker(library.admin);
    const { mayStartAt, causes } = (await queue.explain(id))!;
    expect(causes).toEqual([{ cause: 'delayed', until: mayStartAt }]);
  });

  test('knows nothing of a task that never was', async () => {
    expect(await library.open().explain('999999')).toBeUndefined();
  });

  test('refuses what is no id', async () => {
    await expect(library.open().explain('x')).rejects.toMatchObject({ exitCode: 2 });
  });
});

describe('get', () => {
  test('returns a pending task, with times as Dates and ids as text', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('work', { n: 1 }, { key: 'k', tags: { a: 'b' }, delay: '1h' });
    const task = (await queue.get(id))!;
    expect(task).toMatchObject({
      id,
      type: 'work',
      queue: 'default',
      status: 'pending',
      payload: { n: 1 },
      key: 'k',
      tags: { a: 'b' },
      attempts: 0,
      startedAt: null,
      result: null,
      errors: [],
    });
    expect(task.availableAt!.getTime() - task.createdAt.getTime()).toBe(3_600_000);
  });

  test('returns the result of a completed task, and every earlier attempt', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('work');
    const error = { name: 'Error', message: 'down', stack: null, code: null, cause: null };
    await settleOne('failed', { error, delay_ms: 0, ran_ms: 12 });
    await settleOne('snoozed', { delay_ms: 0, result: { page: 1 } });
    await settleOne('completed', { result: { pages: 2 } });
    expect(await queue.get(id)).toMatchObject({
      status: 'completed',
      attempts: 1,
      result: { pages: 2 },
      finishedAt: expect.any(Date),
      errors: [
        {
          attempt: 1,
          outcome: 'failed',
          error: { message: 'down' },
          worker: expect.any(String),
          version: null,
          ranMs: 12,
          retryAt: expect.any(Date),
          result: null,
        },
        { attempt: 1, outcome: 'snoozed', error: null, result: { page: 1 } },
      ],
    });
  });

  test('finds a task by the key it holds, in its queue, while it holds it', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('work', {}, { key: 'k' });
    const held = await queue.enqueue('work', {}, { key: 'k', queue: 'b', keyFor: '24h' });
    expect(await queue.get({ key: 'k' })).toMatchObject({ id });
    expect(await queue.get({ queue: 'b', key: 'k' })).toMatchObject({ id: held.id });
    expect(await queue.get({ queue: 'c', key: 'k' })).toBeUndefined();
    await queue.cancel(id);
    await queue.cancel(held.id);
    expect(await queue.get({ key: 'k' })).toBeUndefined();
    expect(await queue.get({ queue: 'b', key: 'k' })).toMatchObject({ id: held.id, status: 'cancelled' });
  });

  test('returns nothing for an unknown id, and refuses an invalid one', async () => {
    const queue = library.open();
    expect(await queue.get('4711')).toBeUndefined();
    await expect(queue.get('seven')).rejects.toMatchObject({
      code: 'bad_option',
      message: 'id "seven": expected the number of a task, such as 12',
    });
  });
});

describe('list', () => {
  const idsOf = async (tasks: AsyncIterable<TaskRecord>) => {
    const ids: string[] = [];
    for await (const { id } of tasks) ids.push(id);
    return ids;
  };

  test('iterates all that fit, newest first, however many pages they are', async () => {
    const queue = library.open();
    await queue.enqueueMany(Array.from({ length: 1203 }, (_, n) => ({ type: n % 2 ? 'work' : 'report' })));
    const ids = await idsOf(queue.list({ type: 'report' }));
    expect(ids).toHaveLength(602);
    expect(ids).toEqual([...ids].sort((a, b) => Number(b) - Number(a)));
  });

  test('gives one page at a time to whoever leafs through', async () => {
    const queue = library.open();
    await queue.enqueueMany(Array.from({ length: 5 }, () => ({ type: 'work' })));
    const list = queue.list();
    const first = await list.page({ limit: 3 });
    const second = await list.page({ limit: 3, after: first.after });
    expect([first.tasks.length, second.tasks.length, second.after]).toEqual([3, 2, null]);
    expect(new Set([...first.tasks, ...second.tasks].map(({ id }) => id)).size).toBe(5);
  });

  test('filters as the command line does, and brings results', async () => {
    const queue = library.open();
    const done = await queue.enqueue('work');
    await settleOne('completed', { result: { sent: true } });
    const failed = await queue.enqueue('work', {}, { queue: 'b', tags: { tenant: 'a' } });
    const worker = await registerWorker(library.admin);
    await worker.settle(outcome(await claimOne(worker, { queues: ['b'] }), 'failed', { delay_ms: 60_000 }));
    const keyed = await queue.enqueue('report', {}, { key: 'k' });

    expect((await queue.list({ status: 'completed' }).page()).tasks).toMatchObject([
      { id: done.id, result: { sent: true } },
    ]);
    expect(await idsOf(queue.list({ status: ['completed', 'pending'], type: 'work' }))).toEqual([
      failed.id,
      done.id,
    ]);
    expect(await idsOf(queue.list({ failed: true }))).toEqual([failed.id]);
    expect(await idsOf(queue.list({ queue: 'b' }))).toEqual([failed.id]);
    expect(await idsOf(queue.list({ tags: { tenant: 'a' } }))).toEqual([failed.id]);
    expect(await idsOf(queue.list({ key: 'k' }))).toEqual([keyed.id]);
    expect(await idsOf(queue.list({ since: new Date(Date.now() + 60_000) }))).toEqual([]);
    expect(await idsOf(queue.list({ since: '1h' }))).toHaveLength(3);
  });

  test.each([
    [{ status: 'done' }, /status "done": expected one of blocked, pending/],
    [{ typ: 'work' }, /unknown filter "typ" \(did you mean "type"\?\)/],
    [{ since: 'yesterday' }, /since "yesterday": expected a time such as .*, or a duration back from now/],
  ])('a filter that cannot be is refused: %j', (filter, message) => {
    expect(() => library.open().list(filter as object)).toThrow(message);
  });
});

describe('cancel and revive', () => {
  test('a pending task is cancelled at once, a running one when its worker gets the request', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('work');
    expect(await queue.cancel(id, { reason: 'not wanted' })).toEqual({
      id,
      answer: 'cancelled',
      status: null,
    });
    expect(await queue.get(id)).toMatchObject({ status: 'cancelled', reason: 'not wanted' });
    expect(await queue.cancel(id)).toEqual({ id, answer: 'not_live', status: 'cancelled' });
    const running = await queue.enqueue('work');
    await claimOne(await registerWorker(library.admin));
    expect(await queue.cancel(running.id)).toMatchObject({ answer: 'requested' });
  });

  test('a dead letter is brought back with another payload, or its key names who holds it now', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('work', { n: 1 }, { key: 'k' });
    await settleOne('dead', { reason: 'bad address' });
    expect(await queue.get(id)).toMatchObject({ status: 'dead', reason: 'bad address' });
    const holder = await queue.enqueue('work', {}, { key: 'k' });
    expect(await queue.revive(id)).toMatchObject({ answer: 'key_held', key: 'k', holder: holder.id });
    await queue.cancel(holder.id);
    expect(await queue.revive(id, { payload: { n: 2 }, delay: '1h', maxAttempts: 5 })).toMatchObject({
      answer: 'revived',
    });
    expect(await queue.get(id)).toMatchObject({
      status: 'pending',
      payload: { n: 2 },
      maxAttempts: 5,
      attempts: 0,
    });
    expect(await queue.revive(id)).toMatchObject({ answer: 'not_dead' });
  });

  test('a finished task is rerun as a new one, whose policies and actions are returned', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('work', { n: 1 }, { maxAttempts: 'unlimited', tags: { a: 'b' } });
    await settleOne('completed', {});
    const { answer, newId } = await queue.rerun(id, { by: 'ann' });
    expect(answer).toBe('enqueued');
    expect(await queue.get(newId!)).toMatchObject({
      ...{ status: 'pending', payload: { n: 1 }, tags: { a: 'b' }, actions: [] },
      applies: {
        maxAttempts: { value: 'unlimited', from: 'task' },
        retention: { value: '7d', from: 'defaults' },
      },
    });
    expect((await queue.get(id))!.actions).toMatchObject([
      { verb: 'rerun', by: 'ann', at: expect.any(Date) },
    ]);
    expect(await queue.rerun(newId!)).toMatchObject({ answer: 'not_finished', status: 'pending' });
  });

  test('what has finished and fits a filter runs again; a held key and a misfit keep their task alone from it', async () => {
    const validate = (value: unknown) =>
      (value as { n?: unknown }).n === 1 ? { value } : { issues: [{ message: 'expected 1' }] };
    const schema = { '~standard': { version: 1 as const, vendor: 'test', validate } };
    const queue = library.open({ handlers: { work: { schema, run: async () => {} } } });
    const plain = library.open();
    const add = async (n: number, options: object = {}) => {
      const { id } = await plain.enqueue('work', { n }, { queue: 'many', ...options });
      await plain.cancel(id);
      return id;
    };
    const [misfit, keyed, first, second] = [
      await add(2),
      await add(1, { key: 'many' }),
      await add(1),
      await add(1),
    ];
    const holder = await plain.enqueue('work', { n: 1 }, { queue: 'many', key: 'many' });
    const list = queue.list({ queue: 'many' });
    expect(await list.rerun({ limit: 1, by: 'ann' })).toEqual({ counts: { enqueued: 1 }, answers: [] });
    expect(await list.rerun({ delay: '1h' })).toMatchObject({
      counts: { enqueued: 2, key_held: 1, invalid_payload: 1 },
      answers: [
        { id: misfit, answer: 'invalid_payload', problem: expect.stringContaining('expected 1') },
        { id: keyed, answer: 'key_held', holder: holder.id },
      ],
    });
    const sources = await library.admin.rows<{ source: string }>(
      "select source from taskq.tasks where queue = 'many' and source is not null order by id",
    );
    expect(sources.map(({ source }) => source).toSorted()).toEqual(
      [`rerun of ${first}`, `rerun of ${second}`, `rerun of ${second}`].toSorted(),
    );
    await expect(queue.list().rerun()).rejects.toThrow('this would run every finished task again');
    await expect(queue.list({ status: 'dead' }).rerun()).rejects.toThrow(
      'status "dead": expected one of completed',
    );
    expect(await queue.list().rerun({ all: true, signal: AbortSignal.abort() })).toMatchObject({
      counts: {},
    });
  });

  test('a payload that the schema of its handler refuses is neither revived nor run again', async () => {
    const handlers = {
      work: {
        schema: {
          '~standard': {
            version: 1 as const,
            vendor: 'test',
            validate: (value: unknown) =>
              (value as { n?: unknown }).n === 1 ? { value } : { issues: [{ message: 'expected 1' }] },
          },
        },
        run: async () => {},
      },
    };
    const queue = library.open({ handlers });
    const { id } = await library.open().enqueue('work', { n: 2 });
    await settleOne('completed', {});
    await expect(queue.rerun(id)).rejects.toThrow('expected 1');
    expect(await queue.rerun(id, { payload: { n: 1 } })).toMatchObject({ answer: 'enqueued' });
    const dead = await library.open().enqueue('work', { n: 1 }, { priority: 0 });
    await settleOne('dead', { reason: 'r' });
    await expect(queue.revive(dead.id, { payload: { n: 3 } })).rejects.toThrow('expected 1');
    expect(await queue.revive(dead.id)).toMatchObject({ answer: 'revived' });
  });
});
