import { Cancel, Dead, dbFunctionHandler, defineHandler, Retry, Snooze, type TaskContext } from 'taskq';
import { rolledBack, runAttempt, runTask } from 'taskq/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { insertWorkflow } from '../queue/flow/steps.ts';
import type { Session } from '../queue/session.ts';
import { claimOne, registerWorker } from '../queue/worker.ts';
import { useLibrary } from './use-queue.ts';

const library = useLibrary();

const handlers = {
  /** Fails twice, then succeeds. */
  flaky: (_: unknown, { attempt }: TaskContext) => {
    if (attempt < 3) throw new Error(`attempt ${attempt}`);
    return { attempts: attempt };
  },
  hopeless: defineHandler({
    maxAttempts: 4,
    backoff: { kind: 'fixed', base: '1h' },
    run() {
      throw new Error('down');
    },
  }),
  /** Looks until it is done, and says each time how far it is. */
  poll: async (payload: { done: number }, ctx: TaskContext) => {
    seen.push(ctx.id);
    if (seen.length < payload.done) throw new Snooze('10m', { result: { seen: seen.length } });
    return { seen: seen.length };
  },
  /** Stops its group once. */
  stops: (_: unknown, ctx: TaskContext) => {
    seen.push(ctx.id);
    if (seen.length === 1) throw new Snooze('10m', { hold: 'group' });
    return { seen: seen.length };
  },
  asks: () => {
    throw new Retry({ delay: '1m', message: 'the other side is busy', result: { status: 503 } });
  },
  /** Brings more than can be stored, by each of the ways. */
  chatty: (_: unknown, { attempt }: TaskContext) => {
    const result = 'x'.repeat(300_000);
    seen.push(String(attempt));
    if (seen.length === 1) throw new Snooze('10m', { result });
    throw new Retry({ delay: '1m', result });
  },
  talks: (_: unknown, ctx: TaskContext) => ctx.log.info('hello', { attempt: ctx.attempt }),
  stubborn: defineHandler({
    maxAttempts: 'unlimited',
    run() {
      throw new Error('down');
    },
  }),
  gone: () => {
    throw new Dead('no such mailbox');
  },
  unwanted: () => {
    throw new Cancel('unsubscribed');
  },
  checked: defineHandler({ schema: z.object({ n: z.number() }), run: ({ n }) => n }),
  apart: defineHandler({ isolation: 'process', run: () => process.pid }),
  /** Writes in its own transaction; the first time it throws there. */
  books: (_: unknown, ctx: TaskContext) =>
    ctx.transaction(async (client) => {
      const { rows } = await client.query<{ n: number }>(
        'insert into booked (attempt) values ($1) returning attempt as n',
        [ctx.attempt],
      );
      if (ctx.attempt === 1) throw new Error('not yet');
      if (ctx.attempt === 2) await client.query('commit');
      return rows[0];
    }),
  step: async (_: unknown, ctx: TaskContext) => ({ at: ctx.workflow, parents: await ctx.parents() }),
  ticked: (_: unknown, { tick }: TaskContext) => ({ tick }),
  traced: (_: unknown, { traceparent }: TaskContext) => ({ traceparent }),
  slow: defineHandler({
    timeout: '50ms',
    maxAttempts: 1,
    run: (_, ctx) =>
      new Promise((resolve) => ctx.signal.addEventListener('abort', () => resolve('too late'))),
  }),
};

let seen: string[] = [];

/** Enqueue a task and run it to its end. */
async function run(type: keyof typeof handlers, payload: unknown = {}, options: object = {}) {
  seen = [];
  const { id } = await library.open().enqueue(type, payload, { allowUnknown: true, ...options });
  return runTask(id, { databaseUrl: library.url, handlers });
}

describe('runTask', () => {
  test('gives up on a task that never ends', async () => {
    const ending = rolledBack(library.url, async (client) => {
      const { id } = await library.open().enqueue('stubborn', {}, { client, allowUnknown: true });
      return runTask(id, { client, handlers });
    });
    await expect(ending).rejects.toMatchObject({
      code: 'endless',
      message: expect.stringMatching(/has not ended after 100 attempts/),
    });
  });

  test('goes on as long as the task may', async () => {
    expect(await run('hopeless', {}, { maxAttempts: 101 })).toMatchObject({ status: 'dead', attempts: 101 });
  });

  test('keeps what an attempt that completed has logged', async () => {
    const task = await run('talks');
    expect(task.logs).toMatchObject([{ attempt: 1, lines: [{ message: 'hello', fields: { attempt: 1 } }] }]);
  });

  test('gives the handler the tick that the test names', async () => {
    const { id } = await library.open().enqueue('ticked', {}, { allowUnknown: true });
    const tick = new Date('2030-01-31T08:00:00Z');
    expect(await runTask(id, { databaseUrl: library.url, handlers, tick })).toMatchObject({
      result: { tick: tick.toISOString() },
    });
    expect(await run('ticked')).toMatchObject({ result: { tick: null } });
  });

  test('runs a task to its end, through every back-off at once', async () => {
    expect(await run('flaky', {}, { backoff: { kind: 'fixed', base: '1h' } })).toMatchObject({
      status: 'completed',
      attempts: 2,
      result: { attempts: 3 },
      errors: [
        { attempt: 1, outcome: 'failed', error: { message: 'attempt 1' } },
        { attempt: 2, outcome: 'failed', error: { message: 'attempt 2' } },
      ],
    });
  });

  test('what it has to wait for is what would be waited for: the rows say so', async () => {
    const task = await run('hopeless');
    expect(task).toMatchObject({ status: 'dead', reason: 'attempts_spent', attempts: 4 });
    const retries = task.errors.map(
      ({ at, retryAt }) => retryAt && (retryAt.getTime() - at.getTime()) / 3_600_000,
    );
    expect(retries.slice(0, 3).every((hours) => hours !== null && hours >= 0.8 && hours <= 1.2)).toBe(true);
    expect(retries[3]).toBeNull();
    // Four attempts with an hour between: it is that much older.
    expect(task.finishedAt!.getTime() - task.createdAt.getTime()).toBeGreaterThan(3 * 0.8 * 3_600_000);
  });

  test('a task that was started once does not expire while it backs off, as with a worker', async () => {
    expect(await run('flaky', {}, { expires: '1m', backoff: { kind: 'fixed', base: '2m' } })).toMatchObject({
      status: 'completed',
      attempts: 2,
    });
  });

  test('a task that polls leaves what it saw by attempt, and burns none', async () => {
    expect(await run('poll', { done: 3 }, { delay: '2d' })).toMatchObject({
      status: 'completed',
      attempts: 0,
      result: { seen: 3 },
      errors: [
        { outcome: 'snoozed', error: null, result: { seen: 1 } },
        { outcome: 'snoozed', error: null, result: { seen: 2 } },
      ],
    });
  });

  test('a task stops its group, and goes on when the time is over: then the next one of the group can run', async () => {
    seen = [];
    const queue = library.open();
    await queue.setQueue('mail', { groupLimit: 1 });
    const options = { queue: 'mail', group: 'ann', allowUnknown: true } as const;
    const [first, second] = [
      await queue.enqueue('stops', {}, options),
      await queue.enqueue('gone', {}, { ...options, delay: '1h' }),
    ];
    const given = { databaseUrl: library.url, handlers };
    expect(await runAttempt(first.id, given)).toMatchObject({ status: 'pending', group: 'ann' });
    await expect(runAttempt(second.id, given)).rejects.toMatchObject({ code: 'not_waiting' });
    expect(await runTask(first.id, given)).toMatchObject({
      status: 'completed',
      attempts: 0,
      result: { seen: 2 },
    });
    expect(await runTask(second.id, given)).toMatchObject({ status: 'dead', reason: 'no such mailbox' });
  });

  test('what Retry brings is kept with its attempt too', async () => {
    expect(await run('asks', {}, { maxAttempts: 2 })).toMatchObject({
      status: 'dead',
      errors: [
        { attempt: 1, error: { message: 'the other side is busy' }, result: { status: 503 } },
        { attempt: 2, result: { status: 503 } },
      ],
    });
  });

  test('of what Retry and Snooze bring and is too large to store a note is kept', async () => {
    const resultNote = {
      bytes: 300_002,
      head: expect.stringMatching(/^"x{400}/),
      reason: 'larger than 262144 bytes',
    };
    expect((await run('chatty', {}, { maxAttempts: 1 })).errors).toMatchObject([
      { outcome: 'snoozed', result: null, resultNote },
      { outcome: 'failed', result: null, resultNote },
    ]);
  });

  test.each([
    ['gone', {}, { status: 'dead', reason: 'no such mailbox' }],
    ['unwanted', {}, { status: 'cancelled', reason: 'unsubscribed' }],
    ['checked', { n: 'one' }, { status: 'dead', reason: 'invalid_payload' }],
    ['slow', {}, { status: 'dead', error: { name: 'TimeoutError', message: 'ran longer than 50ms' } }],
  ] as const)('every end is the one a worker would record: %s', async (type, payload, end) => {
    expect(await run(type, payload)).toMatchObject(end);
  });

  test('a handler that a worker would run in a process of its own runs in the process of the test', async () => {
    expect(await run('apart')).toMatchObject({ status: 'completed', result: process.pid });
  });

  test('the trace of a task reaches its handler', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    expect(await run('traced', {}, { traceparent })).toMatchObject({ result: { traceparent } });
    expect(await run('traced')).toMatchObject({ result: { traceparent: null } });
  });

  test('a step gets its parents from the database', async () => {
    const { id, tasks } = await insertWorkflow(library.admin, [
      { step: 'a', status: 'completed', result: { rows: 7 } },
      { step: 'b', after: ['a'], met: ['a'], task: { type: 'step' } },
    ]);
    expect(await runTask(tasks.b!, { databaseUrl: library.url, handlers })).toMatchObject({
      result: { at: { id, step: 'b' }, parents: { a: { status: 'completed', result: { rows: 7 } } } },
    });
  });

  test('a test may say which step a task is, and what its parents have brought', async () => {
    const { id } = await library.open().enqueue('step', {}, { allowUnknown: true });
    const workflow = { id: '7', step: 'b' };
    const parents = { a: { result: new Date(0) }, z: { status: 'dead' } } as const;
    expect(await runTask(id, { databaseUrl: library.url, handlers, workflow, parents })).toMatchObject({
      result: {
        at: workflow,
        parents: {
          a: { status: 'completed', result: '1970-01-01T00:00:00.000Z' },
          z: { status: 'dead', result: null },
        },
      },
    });
  });

  test('a task without history is reported once', async () => {
    expect(await run('checked', { n: 7 }, { retention: 'none' })).toMatchObject({
      status: 'completed',
      result: 7,
    });
  });

  test('everything can happen in a transaction that is rolled back', async () => {
    const { client } = await library.session();
    await client.query('begin');
    const { id } = await library.open().enqueue('flaky', {}, { client, allowUnknown: true });
    expect(await runTask(id, { client, handlers })).toMatchObject({ status: 'completed', attempts: 2 });
    await client.query('rollback');
    expect(await library.open().get(id)).toBeUndefined();
    expect(await library.admin.value('select count(*) from taskq.workers')).toBe('0');
  });

  test('other tasks of the database are left alone', async () => {
    const other = await library.open().enqueue('flaky', {}, { allowUnknown: true });
    await run('flaky');
    expect(await library.open().get(other.id)).toMatchObject({ status: 'pending', attempts: 0 });
  });
});

describe('a handler with a transaction of its own', () => {
  const booked = (client: { query: Session['client']['query'] }) =>
    client.query<{ attempt: number }>('select attempt from booked order by attempt');
  const completed = {
    status: 'completed',
    attempts: 2,
    result: { n: 3 },
    errors: [{ error: { message: 'not yet' } }, { error: { code: 'transaction_misused' } }],
  };

  test('commits it with the end of its task', async () => {
    await library.admin.rows('create table booked (attempt integer)');
    try {
      expect(await run('books')).toMatchObject(completed);
      expect((await booked(library.admin.client)).rows).toEqual([{ attempt: 3 }]);
    } finally {
      await library.admin.rows('drop table booked');
    }
  });

  test('runs within the transaction of a test, which is rolled back', async () => {
    await rolledBack(library.url, async (client) => {
      await client.query({ text: 'create table booked (attempt integer)', values: [] });
      const { id } = await library.open().enqueue('books', {}, { allowUnknown: true, client });
      expect(await runTask(id, { client, handlers })).toMatchObject(completed);
      expect((await client.query({ text: 'select attempt from booked', values: [] })).rows).toEqual([
        { attempt: 3 },
      ]);
    });
    expect(await library.admin.rows("select from pg_class where relname = 'booked'")).toEqual([]);
  });

  test('runs on a connection of the test that is in no transaction', async () => {
    const { client } = await library.session();
    await client.query('create table booked (attempt integer)');
    try {
      const { id } = await library.open().enqueue('books', {}, { allowUnknown: true });
      expect(await runTask(id, { client, handlers })).toMatchObject(completed);
      expect((await booked(client)).rows).toEqual([{ attempt: 3 }]);
    } finally {
      await library.admin.rows('drop table booked');
    }
  });
});

describe('runAttempt', () => {
  test('runs one attempt, and shows what has become of the task', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('flaky', {}, { allowUnknown: true });
    const options = { databaseUrl: library.url, handlers };
    expect(await runAttempt(id, options)).toMatchObject({ status: 'pending', attempts: 1 });
    expect(await runAttempt(id, options)).toMatchObject({ status: 'pending', attempts: 2 });
    expect(await runAttempt(id, options)).toMatchObject({ status: 'completed' });
    expect(await runAttempt(id, options)).toMatchObject({ status: 'completed', attempts: 2 });
  });
});

describe('refuses', () => {
  test('an unknown task', async () => {
    await expect(runTask('4711', { databaseUrl: library.url, handlers })).rejects.toMatchObject({
      code: 'no_such_task',
    });
  });

  test('a type it was given no handler for, and leaves the task as it was', async () => {
    const { id } = await library.open().enqueue('work');
    await expect(runTask(id, { databaseUrl: library.url, handlers })).rejects.toThrow(
      'no handler for work was passed',
    );
    expect(await library.open().get(id)).toMatchObject({ status: 'pending' });
    const live = 'select count(*) from taskq.workers where stopped_at is null';
    expect(await library.admin.value(live), 'no worker stays behind').toBe('0');
  });

  test('a task that a worker has', async () => {
    const { id } = await library.open().enqueue('work');
    await claimOne(await registerWorker(library.admin));
    const options = { databaseUrl: library.url, handlers: { work: () => {} } };
    await expect(runTask(id, options)).rejects.toMatchObject({ code: 'not_waiting' });
  });
});

describe('rolledBack', () => {
  test('returns what the test returns, and leaves nothing of it', async () => {
    const queue = library.open();
    const task = await rolledBack(library.url, async (client) => {
      const { id } = await queue.enqueue('flaky', {}, { client, allowUnknown: true });
      return runTask(id, { client, handlers });
    });
    expect(task).toMatchObject({ status: 'completed', attempts: 2 });
    expect(await queue.get(task.id)).toBeUndefined();
  });

  test('takes statements as texts with values, and as objects', async () => {
    const answers = await rolledBack(library.url, async (client) => [
      await client.query('select 1 as n'),
      await client.query<{ n: number }>('select $1::int as n', [5]),
      await client.query({ text: 'select $1::int as n', values: [6] }),
    ]);
    expect(answers.map(({ rows }) => rows)).toEqual([[{ n: 1 }], [{ n: 5 }], [{ n: 6 }]]);
  });

  test('leaves nothing of a test that fails, whose error it throws', async () => {
    const queue = library.open();
    let id = '';
    const failing = rolledBack(library.url, async (client) => {
      ({ id } = await queue.enqueue('flaky', {}, { client, allowUnknown: true }));
      throw new Error('not as expected');
    });
    await expect(failing).rejects.toThrow('not as expected');
    expect(await queue.get(id)).toBeUndefined();
  });
});

test('a handler calls a function of the database in the transaction of the test, and its failure undoes only that', async () => {
  await rolledBack(library.url, async (client) => {
    await client.query({
      values: [],
      text: `create schema internal;
      create table calls (payload jsonb);
      create function internal.run_function(function_name text, payload jsonb) returns jsonb language plpgsql as $$
      begin
        insert into calls values (payload);
        if function_name = 'shop.raise' then
          raise exception 'sold out';
        end if;
        return '{"status": "succeeded", "payload": 7}';
      end
      $$`,
    });
    const call = async (name: string) => {
      const { rows } = await client.query({
        text: `select id from taskq.enqueue('db_function', jsonb_build_object('db_function', $1::text), '{"max_attempts": 1, "allow_unknown": true}')`,
        values: [name],
      });
      return runTask((rows[0] as { id: string }).id, {
        client,
        handlers: { db_function: dbFunctionHandler() },
      });
    };
    expect(await call('shop.take')).toMatchObject({ status: 'completed', result: { payload: 7 } });
    expect(await call('shop.raise')).toMatchObject({
      status: 'dead',
      error: { name: 'FunctionFailed', message: 'sold out', code: 'P0001' },
    });
    expect((await client.query({ text: 'select payload from calls', values: [] })).rows).toEqual([
      { payload: { db_function: 'shop.take' } },
    ]);
  });
});
