import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineHandler, type PgClient, TaskQueue } from '../../src/index.ts';
import { liveRow } from '../queue/rows.ts';
import { refusedAs, WRONG_JSON } from '../support/wrong-json.ts';
import { openWay } from '../worker/support/proxy.ts';
import { openPool, useLibrary } from './use-queue.ts';

const library = useLibrary();

const counted = () => library.admin.value<string>('select count(*) from taskq.tasks');

describe('enqueue', () => {
  test('gives the id of the task as text, and every option reaches the task', async () => {
    const queue = library.open();
    const { id, created } = await queue.enqueue(
      'send-email',
      { to: 'ann@example.org' },
      {
        queue: 'mail',
        priority: 'high',
        delay: '10m',
        maxAttempts: 7,
        timeout: '30s',
        key: 'welcome-ann',
        tags: { tenant: 'a' },
        retention: '30d',
        backoff: { kind: 'fixed', base: '1s' },
      },
    );
    expect({ id, created }).toEqual({ id: expect.stringMatching(/^\d+$/), created: true });
    expect(await liveRow(library.admin, id)).toMatchObject({
      type: 'send-email',
      payload: { to: 'ann@example.org' },
      queue: 'mail',
      priority: 1,
      max_attempts: 7,
      timeout_ms: '30000',
      unique_key: 'welcome-ann',
      tags: { tenant: 'a' },
      retention: '30d',
      backoff: { kind: 'fixed', base_ms: 1000 },
    });
  });

  test('of a key that is held gives the holder, and makes nothing', async () => {
    const queue = library.open();
    const first = await queue.enqueue('work', { n: 1 }, { key: 'k' });
    expect(await queue.enqueue('work', { n: 2 }, { key: 'k' })).toEqual({
      ...{ id: first.id, created: false, answer: 'held', nextId: null },
    });
    expect(await counted()).toBe('1');
  });

  test('replaces the holder of its key, or runs after it, and says which', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('work', { n: 1 }, { key: 'k' });
    expect(await queue.enqueue('work', { n: 2 }, { key: 'k', onHeld: 'replace' })).toEqual({
      ...{ id, created: false, answer: 'replaced', nextId: null },
    });
    expect((await queue.get(id))?.payload).toEqual({ n: 2 });
    await library.admin.rows("select from taskq.claim(1, '{default}', '{work}', 1, 0, 60000)");
    const { nextId, ...answer } = await queue.enqueue('work', { n: 3 }, { key: 'k', onHeld: 'preserve' });
    expect(answer).toEqual({ id, created: false, answer: 'again' });
    expect((await queue.get(id))?.again).toEqual({ id: nextId, at: expect.any(Date), payload: { n: 3 } });
    await expect(
      queue.enqueue('report', {}, { key: 'k', onHeld: 'replace', allowUnknown: true }),
    ).rejects.toMatchObject({
      ...{ code: 'key_of_another', exitCode: 2 },
      message: `task ${id} of type "work" holds the key "k", which a task of another type ("report") cannot replace`,
    });
  });

  test('of many says what became of each, and counts it', async () => {
    const queue = library.open();
    const tasks = [
      { type: 'work', key: 'a' },
      { type: 'report', key: 'a', onHeld: 'replace' as const },
      { type: 'work', key: 'a', onHeld: 'replace' as const },
      { type: 'work', key: 'a' },
    ];
    const answers: string[] = [];
    const counts = await queue.enqueueMany(tasks, {
      allowUnknown: true,
      onEnqueued: (batch) => answers.push(...batch.map(({ answer }) => answer)),
    });
    expect(answers).toEqual(['created', 'key_of_another', 'replaced', 'held']);
    expect(counts).toEqual({ created: 1, existing: 1, replaced: 1, again: 0, refused: 1 });
    expect(await queue.enqueueMany(tasks, { allowUnknown: true })).toEqual({
      ...{ created: 0, existing: 2, replaced: 1, again: 0, refused: 1 },
    });
  });

  test('an unknown type is refused with the nearest names', async () => {
    const error = await library
      .open()
      .enqueue('send-emial')
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      name: 'UnknownTypeError',
      code: 'unknown_type',
      type: 'send-emial',
      nearest: ['send-email'],
      message: 'unknown type "send-emial" (did you mean "send-email"?)',
      hint: expect.stringContaining('taskq types add'),
    });
    expect(await counted()).toBe('0');
  });

  test('an unknown type is accepted with allowUnknown, or with a handler for it', async () => {
    await library.open().enqueue('brand-new', {}, { allowUnknown: true });
    const queue = library.open({ handlers: { newer: () => {} } });
    await queue.enqueue('newer');
    await queue.enqueueMany([{ type: 'newer' }]);
    expect(await counted()).toBe('3');
  });

  test.each([
    [
      'an option nobody knows',
      { delaay: '1m' },
      'bad_option',
      /unknown option "delaay" \(did you mean "delay"/,
    ],
    ['a duration that is none', { delay: 'soon' }, 'bad_duration', /delay "soon": expected a duration/],
    ['a priority that is none', { priority: 10 }, 'bad_priority', /0 is the most urgent, 9 the least/],
    ['a queue without a name', { queue: '' }, 'bad_name', /queue "": expected at least one character/],
  ])('%s is refused before anything is sent', async (_, options, code, message) => {
    await expect(library.open().enqueue('work', {}, options as object)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  test.each(WRONG_JSON.map(([option, ...values]) => [option, values] as const))(
    'a value of another type than its option has is refused: %s',
    async (option, values) => {
      const queue = library.open();
      for (const value of values) {
        const refusal = (of: string) =>
          expect.objectContaining({ message: expect.stringMatching(refusedAs(of, option, value)) });
        const task = { type: 'work', [option]: value };
        const { client } = await library.session();
        await expect(queue.enqueueMany([{ type: 'work' }, task], { client })).rejects.toEqual(
          refusal('task 2 cannot be enqueued: '),
        );
        const { type, ...options } = task;
        await expect(queue.enqueue(type as string, {}, options)).rejects.toEqual(refusal(''));
      }
      expect(await counted()).toBe('0');
    },
  );

  const circular: { self?: unknown } = {};
  circular.self = circular;

  test.each([
    ['circular', circular, /it has no JSON form: Converting circular/],
    ['a BigInt', { n: 1n }, /it has no JSON form: .*BigInt/],
    ['a function', () => {}, /it has no JSON form \(function\)/],
    ['text with a NUL character', { name: 'a\0b' }, /\$\.name has a NUL character/],
    ['half of a character', ['😀'.slice(0, 1)], /\$\[0\] has a lone surrogate/],
    ['more than a megabyte', 'x'.repeat(1_100_000), /larger than 1 MB/],
  ])('a payload that no database keeps is refused: %s', async (_, payload, problem) => {
    await expect(library.open().enqueue('work', payload)).rejects.toMatchObject({
      code: 'invalid_payload',
      problem: expect.stringMatching(problem),
    });
  });

  test('null is a payload like any other, and none is {}', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('work', null);
    expect(await queue.get(id)).toMatchObject({ payload: null });
    expect(await queue.get((await queue.enqueue('work')).id)).toMatchObject({ payload: {} });
  });

  describe('where there are handlers with a schema', () => {
    const handlers = {
      zod: defineHandler({ schema: z.object({ to: z.email() }), run: () => {} }),
      valibot: defineHandler({ schema: v.object({ n: v.array(v.number()) }), run: () => {} }),
      when: defineHandler({ schema: z.object({ at: z.date() }), run: () => {} }),
    };

    test('a payload that does not fit is refused, with its path', async () => {
      const queue = library.open({ handlers });
      await expect(queue.enqueue('zod', { to: 'nobody' })).rejects.toMatchObject({
        name: 'InvalidPayloadError',
        code: 'invalid_payload',
        type: 'zod',
        problem: expect.stringMatching(/^\$\.to: Invalid email/),
      });
      await expect(queue.enqueue('valibot', { n: [1, 'x' as unknown as number] })).rejects.toMatchObject({
        problem: expect.stringMatching(/^\$\.n\[1\]: Invalid type: Expected number/),
      });
      expect((await queue.enqueue('zod', { to: 'ann@example.org' })).created).toBe(true);
    });

    test('what is checked is what is stored: a Date is text by then', async () => {
      const queue = library.open({ handlers });
      await expect(queue.enqueue('when', { at: new Date() })).rejects.toMatchObject({
        problem: expect.stringMatching(/^\$\.at: .*expected date, received string/),
      });
    });
  });
});

describe("in the caller's transaction", () => {
  test('a task appears when it commits, and not before', async () => {
    const queue = library.open();
    const { client } = await library.session();
    await client.query('begin');
    const { id } = await queue.enqueue('work', { n: 1 }, { client });
    await queue.enqueueMany([{ type: 'work' }, { type: 'work' }], { client });
    expect(await queue.get(id)).toBeUndefined();
    expect(await counted()).toBe('0');
    await client.query('commit');
    expect(await counted()).toBe('3');
    expect(await queue.get(id)).toMatchObject({ payload: { n: 1 } });
  });

  test('and never when it is rolled back', async () => {
    const queue = library.open();
    const { client } = await library.session();
    await client.query('begin');
    await queue.enqueue('work', {}, { client });
    await queue.enqueueMany([{ type: 'work' }], { client });
    await client.query('rollback');
    expect(await counted()).toBe('0');
  });

  test('nor when the process is killed before the commit', async () => {
    const program = `
      import pg from 'pg';
      import { TaskQueue } from 'taskq';
      const databaseUrl = process.env.DATABASE_URL;
      const queue = new TaskQueue({ databaseUrl });
      const client = new pg.Client({ connectionString: databaseUrl });
      await client.connect();
      await client.query('begin');
      await client.query('create table orders (id integer)');
      await queue.enqueue('work', {}, { client });
      await queue.enqueueMany([{ type: 'work' }], { client });
      process.kill(process.pid, 'SIGKILL');`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      env: { ...process.env, DATABASE_URL: library.url },
      stdio: 'inherit',
    });
    expect((await once(child, 'exit'))[1]).toBe('SIGKILL');
    expect(await counted()).toBe('0');
    expect(await library.admin.value("select to_regclass('orders')")).toBeNull();
  });

  test('refuses a pool, whose statements would run outside the transaction', async () => {
    const pool = openPool(library.url, 1);
    try {
      const queue = library.open();
      const refused = { code: 'bad_option', message: expect.stringMatching(/^client is a pool/) };
      const client = pool as unknown as PgClient;
      await expect(queue.enqueue('work', {}, { client })).rejects.toMatchObject(refused);
      await expect(queue.enqueueMany([{ type: 'work' }], { client })).rejects.toMatchObject(refused);
      expect(await counted()).toBe('0');
    } finally {
      await pool.end();
    }
  });

  test('refuses what is not a client', async () => {
    const refused = { code: 'bad_option', message: 'client has no function query' };
    const client = {} as unknown as PgClient;
    await expect(library.open().enqueue('work', {}, { client })).rejects.toMatchObject(refused);
    expect(await counted()).toBe('0');
  });

  test("the transaction may use the only client of the queue's own pool", async () => {
    const pool = openPool(library.url, 1);
    try {
      const queue = library.open({ pool });
      const first = await queue.enqueue('work');
      const client = await pool.connect();
      await client.query('begin');
      const second = await queue.enqueue('work', {}, { client });
      await expect(queue.enqueue('worx', {}, { client })).rejects.toMatchObject({ nearest: ['work'] });
      await client.query('rollback');
      client.release();
      expect(await queue.get(first.id)).toBeDefined();
      expect(await queue.get(second.id)).toBeUndefined();
      await queue.close();
      expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    } finally {
      await pool.end();
    }
  });

  test('a database without our schema is named, and what to do', async () => {
    const { client } = await library.session();
    await client.query('begin');
    await client.query('alter schema taskq rename to elsewhere');
    await expect(library.open().enqueue('work', {}, { client })).rejects.toMatchObject({
      code: 'schema_missing',
      hint: 'run taskq migrate',
    });
    await client.query('rollback');
  });
});

describe('enqueueMany', () => {
  test('streams what an iterable gives, some ten thousand to a transaction', async () => {
    let given = 0;
    const givenAtBatch: number[] = [];
    const ids: string[] = [];
    function* tasks() {
      for (; given < 25_000; given++) yield { type: 'work', payload: { n: given } };
    }
    const result = await library.open().enqueueMany(tasks(), {
      onEnqueued(answers) {
        givenAtBatch.push(given);
        ids.push(...answers.map(({ id }) => id));
      },
    });
    expect(result).toEqual({ created: 25_000, existing: 0, replaced: 0, again: 0, refused: 0 });
    expect(givenAtBatch).toEqual([9999, 19_999, 25_000]);
    expect(new Set(ids).size).toBe(25_000);
    const text = 'select count(*) = 25000 and count(distinct t.xmin::text) = 3 from taskq.tasks t';
    expect(await library.admin.value(text)).toBe(true);
  });

  test('takes what comes asynchronously, each with options of its own', async () => {
    async function* tasks() {
      yield { type: 'work', key: 'a' };
      yield { type: 'report', payload: { month: '2026-10' }, queue: 'slow', priority: 9 };
      yield { type: 'work', key: 'a' };
    }
    expect(await library.open().enqueueMany(tasks())).toMatchObject({ created: 2, existing: 1 });
    const rows = await library.admin.rows(
      'select type, queue, priority, unique_key as key from taskq.tasks order by id',
    );
    expect(rows).toEqual([
      { type: 'work', queue: 'default', priority: 2, key: 'a' },
      { type: 'report', queue: 'slow', priority: 9, key: null },
    ]);
  });

  test('that fails in the middle says how many are in, and they are', async () => {
    function* tasks() {
      for (let n = 0; n < 12_000; n++) yield { type: 'work' };
      yield { type: 'work', delay: 'soon' };
    }
    const error = await library
      .open()
      .enqueueMany(tasks())
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      name: 'PartlyEnqueuedError',
      code: 'partly_enqueued',
      enqueued: 10_000,
      uncertain: 0,
      message: expect.stringMatching(
        /^task 12001 cannot be enqueued: delay "soon": .*; the first 10,000 tasks are enqueued$/,
      ),
      cause: { code: 'bad_duration' },
    });
    expect(await counted()).toBe('10000');
  });

  test('whose iterable throws is no different', async () => {
    async function* tasks() {
      yield { type: 'work' };
      throw new Error('the file ends in the middle of a line');
    }
    await expect(library.open().enqueueMany(tasks())).rejects.toMatchObject({
      code: 'partly_enqueued',
      enqueued: 0,
      cause: { message: 'the file ends in the middle of a line' },
    });
    expect(await counted()).toBe('0');
  });

  test('whose answer is lost says what may be in', async () => {
    const way = await openWay(library.url);
    try {
      const queue = library.open({ databaseUrl: way.url });
      await queue.list().page();
      void way.loseAnswerOf((asked) => asked.includes('enqueue_many'));
      await expect(queue.enqueueMany([{ type: 'work' }, { type: 'work' }])).rejects.toMatchObject({
        code: 'partly_enqueued',
        enqueued: 0,
        uncertain: 2,
        message: expect.stringMatching(/; the first 2 tasks may be enqueued$/),
      });
      expect(await counted()).toBe('2');
    } finally {
      await way.close();
    }
  });
});

describe('a queue', () => {
  test('needs a database, and one', () => {
    const pool = { query: async () => ({ rows: [] }) };
    const make = (options: object) => () => new TaskQueue(options as { databaseUrl: string });
    expect(make({})).toThrow(/needs a database: pass either databaseUrl or pool/);
    expect(make({ databaseUrl: library.url, pool })).toThrow(/either databaseUrl or pool/);
    expect(make({ databaseUrl: 'localhost' })).toThrow(/databaseUrl \*\*\*: expected a URL/);
    expect(make({ databaseUrl: 'postgres://ann:pw@h/db?sslcert=/nowhere' })).toThrow(
      'databaseUrl postgres://ann:***@h/db?sslcert=/nowhere: cannot read sslcert (ENOENT)',
    );
    expect(make(undefined as unknown as object)).toThrow(/needs a database: pass either databaseUrl or pool/);
  });

  test('refuses an option that it does not know, with the one that is most like it', () => {
    const make = (options: object) => () => new TaskQueue(options as { databaseUrl: string });
    expect(make({ databaseURL: library.url })).toThrow(
      'unknown option "databaseURL" (did you mean "databaseUrl"?)',
    );
    expect(make({ databaseUrl: library.url, sychronousCommit: 'off' })).toThrow(
      'unknown option "sychronousCommit" (did you mean "synchronousCommit"?)',
    );
  });

  test('says of a number that an id is text', async () => {
    const given = 12 as unknown as string;
    await expect(library.open().wait(given)).rejects.toThrow(
      "id of type number: expected the id as text, such as '12'",
    );
  });

  test('that cannot be reached says where, without the password, and is tried anew', async () => {
    const queue = new TaskQueue({ databaseUrl: 'postgres://ann:secret@127.0.0.1:1/none' });
    for (let round = 0; round < 2; round++) {
      await expect(queue.enqueue('work')).rejects.toMatchObject({
        code: 'connection_failed',
        message: expect.stringMatching(/postgres:\/\/ann:\*\*\*@127\.0\.0\.1:1\/none: ECONNREFUSED/),
      });
    }
    await queue.close();
  });

  test('that is closed takes nothing more', async () => {
    const queue = library.open();
    await queue.enqueue('work');
    await queue.close();
    await queue.close();
    await expect(queue.enqueue('work')).rejects.toMatchObject({ code: 'closed' });
  });
});
