import { describe, expect, test } from 'vitest';
import type { StoredBackoff } from '../../src/domain/backoff.ts';
import {
  bulkOf,
  enqueue as enqueueAlone,
  enqueueCounted,
  enqueueMany,
  type NewTask,
} from '../../src/queue/protocol/enqueue.ts';
import { enqueue, finishedRow, liveRow, type Row } from './rows.ts';
import { useDatabase } from './session.ts';
import { waitUntilBlocked } from './waiting.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

const LARGE = 'x'.repeat(1_048_575);

interface Made {
  readonly place: string;
  readonly id: string;
  readonly created: boolean;
}

function many(tasks: readonly object[], options: object = {}, session = queue.admin): Promise<Made[]> {
  const text = 'select place, id, created from taskq.enqueue_many($1, $2) order by place';
  return session.rows<Made>(text, JSON.stringify(tasks), options);
}

function made(key: string, keyFor: string, session = queue.admin): Promise<Made | undefined> {
  return session.row("select 1 as place, id, created from taskq.enqueue('work', '{}', $1)", {
    key,
    key_for: keyFor,
  });
}

async function complete(id: string): Promise<void> {
  const worker = await registerWorker(queue.admin);
  await queue.admin.rows('update taskq.tasks set priority = 0 where id = $1', id);
  const task = await claimOne(worker);
  expect(task.id).toBe(id);
  await worker.settle(outcome(task, 'completed'));
}

test('a bulk is what its tasks are one by one, whatever they say alike', async () => {
  const backoff = { kind: 'fixed', base_ms: 1000 } as unknown as StoredBackoff;
  const alike = { queue: 'mail', priority: 3, tags: { of: 'all' }, backoff };
  const givenOptions: NewTask['options'][] = [
    { ...alike, max_attempts: 1, key: 'a' },
    { ...alike, tags: { of: 'all' }, max_attempts: 2, timeout_ms: 5 },
    { ...alike, backoff: { ...backoff }, max_attempts: 1 },
  ];
  const sets: NewTask['options'][][] = [
    givenOptions,
    givenOptions.slice(0, 1),
    [undefined, undefined],
    [undefined, alike],
    [alike, alike],
  ];
  for (const [set, options] of sets.entries()) {
    const type = (index: number) => (set === 2 && index === 1 ? 'other' : 'work');
    const tasks = options.map((given, index) => ({
      type: type(index),
      payload: `{"n": ${index}}`,
      ...(given && { options: given }),
    }));
    const rowsOf = async (ids: readonly string[]) => {
      const rows = await Promise.all(ids.map((id) => liveRow(queue.admin, id)));
      await queue.admin.rows('delete from taskq.tasks');
      return rows.map((row) => ({ ...row, id: 0, available_at: 0, not_before: 0, created_at: 0 }));
    };
    const bulk = await enqueueMany(queue.admin, bulkOf(tasks, true));
    const inBulk = await rowsOf(bulk.map(({ id }) => id));
    const single: string[] = [];
    for (const task of tasks) single.push((await enqueueAlone(queue.admin, task, true)).id);
    expect(inBulk).toEqual(await rowsOf(single));
    expect(await enqueueCounted(queue.admin, bulkOf([...tasks, ...tasks], true))).toEqual({
      created: tasks.length * 2 - options.filter((given) => given?.key !== undefined).length,
      ...{ replaced: 0, again: 0, refused: 0, refusals: [], ends: [expect.any(String), expect.any(String)] },
    });
    await queue.admin.rows('delete from taskq.tasks');
  }
});

test('a task that is enqueued alone is what it is in a bulk, whatever it says', async () => {
  await queue.admin.rows("select from taskq.set_queue('hasty', jsonb_build_object('expires_ms', 5000))");
  const givenOptions: readonly object[] = [
    {},
    { queue: 'mail', priority: 9, max_attempts: 7, timeout_ms: 1500, tags: { tenant: 'a' }, source: 'test' },
    {
      retention: 'none',
      backoff: { kind: 'fixed', base_ms: 5 },
      traceparent: '00-a-b-01',
      notify_done: true,
    },
    { at: '2126-01-01T00:00:00Z', expires_ms: 1000 },
    { at: '2126-01-01T00:00:00Z', delay_ms: 1 },
    { at: '2006-01-01T00:00:00Z' },
    { delay_ms: 3_600_000, expires_ms: 250 },
    { delay_ms: -1 },
    { queue: 'hasty' },
    { queue: 'hasty', expires_ms: 1000 },
    { queue: null, priority: null, tags: null, notify_done: null, retention: null },
    { key: 'k', queue: 'hasty', tags: { tenant: 'a' } },
    { key: null },
    // Refused.
    { priority: 10 },
    { queue: '' },
    { queue: 'q'.repeat(201) },
    { tags: [] },
    { retention: 'for a while' },
    { expires_ms: -1 },
    { max_attempts: 'many' },
    { key: '' },
  ];
  const cases = [
    ...givenOptions.map((given) => ({ type: 'work', payload: '{"n": 1}', given })),
    ...['null', '[]', '"text"', null].flatMap((payload) => [
      { type: 'work', payload, given: {} },
      { type: 'work', payload, given: { key: 'k' } },
    ]),
    { type: 'work', payload: JSON.stringify('x'.repeat(1_048_576)), given: {} },
    { type: 'unheard-of', payload: '{}', given: { allow_unknown: ['another'] } },
    { type: 'ghost', payload: '{}', given: { allow_unknown: 'ghost' } },
    { type: 'ghost', payload: '{}', given: { allow_unknown: { ghost: false } } },
    { type: 't'.repeat(201), payload: '{}', given: { allow_unknown: true } },
    { type: '', payload: '{}', given: { allow_unknown: true } },
    { type: 'work', payload: '{}', given: null },
  ];
  const comesTo = async (statement: string, ...values: unknown[]) => {
    const row = await queue.admin
      .rows(statement, ...values)
      .then(() => queue.admin.row<Row>(STORED))
      // By whose options: of a bulk's, or of the one.
      .catch(({ code, message, detail }) => ({ code, message: withoutPlace(message), detail }));
    await queue.admin.rows('delete from taskq.tasks');
    return row;
  };
  for (const { type, payload, given } of cases) {
    const alone = await comesTo('select from taskq.enqueue($1, $2, $3)', type, payload, given);
    expect(alone).toBeDefined();
    expect({ given, comesTo: alone }).toEqual({
      given,
      comesTo: await comesTo(
        "select from taskq.enqueue_many(jsonb_build_array(jsonb_build_object('type', $1::text, 'payload', $2::jsonb)), $3)",
        type,
        payload,
        given,
      ),
    });
  }
});

function withoutPlace(message: string): string {
  return message.replace(/^enqueue(_many)?: |^(the task|task 1) cannot be enqueued: /, '');
}

/** A row without what no two have alike: its times are counted from when it was made. */
const STORED = `select to_jsonb(t) - array['id', 'created_at', 'available_at', 'not_before', 'expires_at'] as row,
  case when available_at < '2100-01-01' then available_at - created_at end as delay,
  case when available_at > '2100-01-01' then available_at end as at,
  not_before = available_at as has_one_time, expires_at - available_at as expires
  from taskq.tasks t`;

describe('options', () => {
  test('a task without options waits in the queue "default" with priority 2, due now', async () => {
    const id = await enqueue(queue.admin, {}, { to: 'ann' });
    expect(await liveRow(queue.admin, id)).toMatchObject({
      queue: 'default',
      type: 'work',
      status: 'pending',
      priority: 2,
      payload: { to: 'ann' },
      attempts: 0,
      lease_no: 0,
      lease_owner: null,
      expires_at: null,
      unique_key: null,
      max_attempts: null,
      notify_done: false,
    });
    expect(
      await queue.admin.value(
        'select available_at = created_at and not_before = created_at from taskq.tasks',
      ),
    ).toBe(true);
  });

  test('every option reaches its column', async () => {
    const backoff = { kind: 'fixed', base_ms: 600_000 };
    const id = await enqueue(queue.admin, {
      queue: 'mail',
      priority: 9,
      max_attempts: 7,
      timeout_ms: 1500,
      key: 'k',
      tags: { tenant: 'a' },
      retention: 'none',
      backoff,
      traceparent: '00-a-b-01',
      notify_done: true,
      source: 'test',
    });
    expect(await liveRow(queue.admin, id)).toMatchObject({
      queue: 'mail',
      priority: 9,
      max_attempts: 7,
      timeout_ms: '1500',
      unique_key: 'k',
      tags: { tenant: 'a' },
      retention: 'none',
      backoff,
      traceparent: '00-a-b-01',
      notify_done: true,
      source: 'test',
    });
  });

  test('an element of a bulk says it itself, or the options of the whole bulk hold', async () => {
    const [a, b] = await many(
      [
        { type: 'work', queue: 'own', priority: 0, tags: { a: '1' } },
        { type: 'work', payload: [1] },
      ],
      { queue: 'all', priority: 7, tags: { b: '2' }, max_attempts: 4 },
    );
    expect(await liveRow(queue.admin, a!.id)).toMatchObject({
      queue: 'own',
      priority: 0,
      tags: { a: '1' },
      max_attempts: 4,
      payload: {},
    });
    expect(await liveRow(queue.admin, b!.id)).toMatchObject({
      queue: 'all',
      priority: 7,
      tags: { b: '2' },
      payload: [1],
    });
  });

  test('a bulk answers each element by its place', async () => {
    const rows = await many(
      Array.from({ length: 50 }, (_, n) => ({ type: 'work', payload: n, key: `k${50 - n}` })),
    );
    expect(rows.map((row) => row.place)).toEqual(Array.from({ length: 50 }, (_, n) => String(n + 1)));
    const payloads = await queue.admin.rows<Row>('select id, payload from taskq.tasks');
    const payloadOf = new Map(payloads.map((row) => [row.id, row.payload]));
    expect(rows.map((row) => payloadOf.get(row.id))).toEqual(Array.from({ length: 50 }, (_, n) => n));
  });

  test('an empty bulk is no error', async () => {
    expect(await many([])).toEqual([]);
  });

  test('a delay counts from now, a time is taken as it is', async () => {
    const delayed = await enqueue(queue.admin, { delay_ms: 60_000 });
    const timed = await enqueue(queue.admin, { at: '2100-01-01T00:00:00.123456+01:00' });
    expect(
      await queue.admin.value(
        "select available_at - created_at = interval '1 min' from taskq.tasks where id = $1",
        delayed,
      ),
    ).toBe(true);
    const at =
      "select available_at = '2099-12-31T23:00:00.123456Z' and not_before = available_at from taskq.tasks where id = $1";
    expect(await queue.admin.value(at, timed)).toBe(true);
  });

  test('a time in the past is now, for no task may slip behind the cursors', async () => {
    const ids = [
      await enqueue(queue.admin, { at: '1999-01-01T00:00:00Z' }),
      await enqueue(queue.admin, { at: '4714-11-24 00:00:00+00 BC' }),
    ];
    const past = 'select count(*)::int from taskq.tasks where id = any ($1) and available_at < created_at';
    expect(await queue.admin.value(past, ids)).toBe(0);
  });

  test('a task expires so long after it became available, by its own word or by its queue', async () => {
    await queue.admin.rows("insert into taskq.queues (name, expires_ms) values ('short', 5000)");
    const own = await enqueue(queue.admin, { delay_ms: 60_000, expires_ms: 1000 });
    const byQueue = await enqueue(queue.admin, { queue: 'short' });
    const both = await enqueue(queue.admin, { queue: 'short', expires_ms: 1000 });
    const lifetime = (id: string) =>
      queue.admin.value<number>(
        'select extract(epoch from expires_at - available_at)::int from taskq.tasks where id = $1',
        id,
      );
    expect([await lifetime(own), await lifetime(byQueue), await lifetime(both)]).toEqual([1, 5, 1]);
  });

  test('an unknown option is refused by name', async () => {
    await expect(enqueue(queue.admin, { prioritty: 1, max_attempts: 2 })).rejects.toThrow(
      'enqueue: unknown option "prioritty" (did you mean "priority"?)',
    );
  });

  test('the task notes which role enqueued it', async () => {
    const id = await enqueue(queue.admin);
    expect(
      await queue.admin.value('select created_by = session_user from taskq.tasks where id = $1', id),
    ).toBe(true);
  });
});

describe('a key', () => {
  test.each(['live', '24h', 'ever'])('that is held (%s) gives the id of its holder', async (keyFor) => {
    const first = await made('k', keyFor);
    const second = await made('k', keyFor);
    expect(first).toMatchObject({ created: true });
    expect(second).toMatchObject({ created: false, id: first!.id });
    expect(await queue.admin.value('select count(*)::int from taskq.tasks')).toBe(1);
  });

  test('is held in its queue alone', async () => {
    const first = await enqueue(queue.admin, { key: 'k' });
    expect(await enqueue(queue.admin, { key: 'k', queue: 'other' })).not.toBe(first);
  });

  test('that is live ends when its task does', async () => {
    const first = await made('k', 'live');
    await complete(first!.id);
    expect(await made('k', 'live')).toMatchObject({ created: true });
  });

  test.each(['24h', 'ever'])('that is held for %s outlives its task', async (keyFor) => {
    const first = await made('k', keyFor);
    await complete(first!.id);
    expect(await made('k', keyFor)).toEqual({ ...first, created: false });
    expect(await made('k', 'live')).toEqual({ ...first, created: false });
  });

  test('that was held for 24 hours is free when they are over', async () => {
    const first = await made('k', '24h');
    await complete(first!.id);
    await queue.admin.rows("update taskq.held_keys set until = clock_timestamp() - interval '1 ms'");
    const second = await made('k', '24h');
    expect(second).toMatchObject({ created: true });
    expect(await made('k', '24h')).toEqual({ ...second, created: false });
    expect(
      await queue.admin.value("select until > clock_timestamp() + interval '23 h' from taskq.held_keys"),
    ).toBe(true);
  });

  test('that was held for 24 hours is still held by its task while that lives', async () => {
    const first = await made('k', '24h');
    await queue.admin.rows("update taskq.held_keys set until = clock_timestamp() - interval '1 ms'");
    expect(await made('k', '24h')).toEqual({ ...first, created: false });
  });

  test('twice in one bulk makes one task, of the first', async () => {
    const rows = await many([
      { type: 'work', payload: 1, key: 'a' },
      { type: 'work', payload: 2 },
      { type: 'work', payload: 3, key: 'a' },
      { type: 'work', payload: 4, key: 'a', key_for: 'ever' },
    ]);
    expect(rows.map((row) => row.created)).toEqual([true, true, false, false]);
    expect(rows[2]!.id).toBe(rows[0]!.id);
    expect(rows[3]!.id).toBe(rows[0]!.id);
    expect((await liveRow(queue.admin, rows[0]!.id))!.payload).toBe(1);
  });

  test('twice in one bulk is held for as long as the first says', async () => {
    const [first] = await many([
      { type: 'work', key: 'a' },
      { type: 'work', key: 'a', key_for: 'ever' },
    ]);
    await complete(first!.id);
    expect(await made('a', 'live')).toMatchObject({ created: true });
    expect(await queue.admin.value('select count(*)::int from taskq.held_keys')).toBe(0);
  });

  test('of two bulks at once, each with the same keys in another order, makes one task per key', async () => {
    const [a, b] = await Promise.all([queue.session(), queue.session()]);
    const keys = Array.from({ length: 300 }, (_, n) => ({
      type: 'work',
      key: `k${n}`,
      key_for: n % 2 ? '24h' : 'live',
    }));
    for (let round = 0; round < 5; round++) {
      const bulks = await Promise.all([
        many(keys, { queue: `q${round}` }, a),
        many(keys.toReversed(), { queue: `q${round}` }, b),
      ]);
      const ids = bulks.map((bulk) => new Set(bulk.map((row) => row.id)));
      expect(ids[0]!.size).toBe(300);
      expect(ids[0]).toEqual(ids[1]);
      expect(bulks.flat().filter((row) => row.created)).toHaveLength(300);
    }
  });

  test.each(['live', '24h'])(
    'in an open transaction (%s) makes others wait; they get its task when it commits',
    async (keyFor) => {
      const [a, b] = await Promise.all([queue.session(), queue.session()]);
      await a.rows('begin');
      const first = await made('k', keyFor, a);
      const second = made('k', keyFor, b);
      await waitUntilBlocked(queue.admin);
      await a.rows('commit');
      expect(await second).toEqual({ ...first, created: false });
    },
  );

  test.each(['live', '24h'])(
    'in an open transaction (%s) that rolls back goes to the one who waits',
    async (keyFor) => {
      const [a, b] = await Promise.all([queue.session(), queue.session()]);
      await a.rows('begin');
      const first = await made('k', keyFor, a);
      const second = made('k', keyFor, b);
      await waitUntilBlocked(queue.admin);
      await a.rows('rollback');
      expect(await second).toMatchObject({ created: true });
      expect((await second)!.id).not.toBe(first!.id);
    },
  );

  test('whose holder ends while one waits for it goes to the one who waits', async () => {
    const [a, b] = await Promise.all([queue.session(), queue.session()]);
    const first = await made('k', 'live');
    await a.rows('begin');
    await a.rows('select taskq.cancel($1)', [first!.id]);
    const second = made('k', 'live', b);
    await waitUntilBlocked(queue.admin);
    await a.rows('commit');
    expect(await second).toMatchObject({ created: true });
  });

  test('that is taken for a period while one waits for the live one is not taken twice', async () => {
    const [a, b] = await Promise.all([queue.session(), queue.session()]);
    await a.rows('begin');
    const first = await made('k', 'ever', a);
    const second = made('k', 'ever', b);
    await waitUntilBlocked(queue.admin);
    await a.rows('select taskq.cancel($1)', [first!.id]);
    await a.rows('commit');
    expect(await second).toEqual({ ...first, created: false });
  });

  test('that a repeatable-read transaction cannot see held is an error to repeat, not a second task', async () => {
    const b = await queue.session();
    await b.rows('begin isolation level repeatable read');
    await b.rows('select 1 from taskq.defaults');
    await made('k', 'live');
    await expect(made('k', 'live', b)).rejects.toMatchObject({ code: '40001' });
    await b.rows('rollback');
  });
});

describe('in a transaction', () => {
  test('tasks are there if and only if it commits', async () => {
    const producer = await queue.session();
    await producer.rows('begin');
    const gone = await enqueue(producer);
    await producer.rows('rollback');
    await producer.rows('begin');
    const kept = await enqueue(producer);
    expect(await liveRow(queue.admin, kept)).toBeUndefined();
    await producer.rows('commit');
    expect(await liveRow(queue.admin, gone)).toBeUndefined();
    expect(await liveRow(queue.admin, kept)).toBeDefined();
  });

  test('that stays open, producers of other keys, claims and settles go on', async () => {
    const producer = await queue.session();
    const id = await enqueue(queue.admin);
    await producer.rows('begin');
    await many([{ type: 'work', key: 'open' }, { type: 'work' }], {}, producer);
    const worker = await registerWorker(await queue.session());
    await worker.session.rows("set statement_timeout = '20s'");
    expect(await made('other', 'ever', worker.session)).toMatchObject({ created: true });
    const [task] = await worker.claim();
    expect(task!.id).toBe(id);
    expect(await worker.settle(outcome(task!, 'completed'))).toMatchObject([{ answer: 'recorded' }]);
    await producer.rows('commit');
  });
});

describe('what cannot be stored is refused', () => {
  test.each([
    ['the only task', [{ payload: {} }], {}],
    ['a task of many', [{ type: 'work' }, { payload: {} }], {}],
    ['one that has options', [{ type: 'work', priority: 1 }, { priority: 1 }], {}],
    ['one of those that share a key', [{ payload: {} }, { type: 'work' }], { key: 'k' }],
    ['one whose type is null', [{ type: 'work' }, { type: null }], {}],
    ['one whose type is empty', [{ type: 'work' }, { type: '' }], {}],
  ])('without a type, in a few lines that quote no statement of ours: %s', async (_, tasks, options) => {
    const { message, where } = await refusalOf(tasks, options);
    expect(message).toMatch(/^task [12] cannot be enqueued: it has no type$/);
    expect(where.split('\n').length).toBeLessThanOrEqual(4);
  });

  test.each([
    ['a task alone', [{ type: 'work', payload: LARGE }]],
    ['one of many', [{ type: 'work' }, { type: 'work', payload: LARGE }]],
    [
      'one that has options',
      [
        { type: 'work', priority: 1 },
        { type: 'work', payload: LARGE, priority: 1 },
      ],
    ],
  ])('with a payload of more than 1 MB, in as few: %s', async (_, tasks) => {
    const { message, where } = await refusalOf(tasks, {});
    expect(message).toMatch(/^task [12] cannot be enqueued: its payload is larger than 1 MB/);
    expect(where.split('\n').length).toBeLessThanOrEqual(4);
  });

  function refusalOf(
    tasks: readonly object[],
    options: object,
  ): Promise<{ readonly message: string; readonly where: string }> {
    const refused = queue.admin.rows('select taskq.enqueue_many($1, $2)', JSON.stringify(tasks), options);
    return refused.then(
      () => expect.unreachable(),
      (error: { message: string; where: string }) => error,
    );
  }

  const refusals: readonly (readonly [string, object, RegExp | string])[] = [
    ['no type', {}, 'task 2 cannot be enqueued: it has no type'],
    ['an empty type', { type: '' }, 'task 2 cannot be enqueued: it has no type'],
    [
      'a type of 201 bytes',
      { type: 'é'.repeat(101) },
      'task 2 cannot be enqueued: its type is longer than 200 bytes',
    ],
    [
      'an empty queue',
      { type: 'a', queue: '' },
      'task 2 cannot be enqueued: queue "": expected text of 1 to 200 bytes',
    ],
    ['a queue of 201 bytes', { type: 'a', queue: 'q'.repeat(201) }, 'task 2 cannot be enqueued: queue "qqq'],
    ['a key of 501 bytes', { type: 'a', key: 'k'.repeat(501) }, 'expected text of 1 to 500 bytes'],
    [
      'tags that are a list',
      { type: 'a', tags: ['x'] },
      'task 2 cannot be enqueued: tags ["x"]: expected an object',
    ],
    [
      'more than 1 MB',
      { type: 'a', payload: 'x'.repeat(1_048_575) },
      'task 2 cannot be enqueued: its payload is larger than 1 MB',
    ],
    [
      'little that is written large',
      { type: 'a', payload: '\u0001'.repeat(200_000) },
      'its payload is larger than 1 MB',
    ],
    [
      'priority 10',
      { type: 'a', priority: 10 },
      'task 2 cannot be enqueued: priority 10: expected 0 to 9 (0 is the most urgent, 9 the least)',
    ],
    ['retention "soon"', { type: 'a', retention: 'soon' }, 'task 2 cannot be enqueued: retention "soon"'],
    ['a time that is none', { type: 'a', at: 'tomorrowish' }, 'task 2 cannot be enqueued: at "tomorrowish"'],
  ];
  test.each(refusals)('%s, and nothing of the bulk is enqueued', async (_, bad, message) => {
    await expect(many([{ type: 'work' }, bad])).rejects.toThrow(message);
    expect(await queue.admin.value('select count(*)::int from taskq.tasks')).toBe(0);
  });

  test.each([{}, { key: 'k' }])(
    'the error of a single task names no place in a bulk (%j)',
    async (options) => {
      const asked = { allow_unknown: true, ...options };
      const one = (type: string, payload: string) =>
        queue.admin.rows('select taskq.enqueue($1, $2, $3)', type, JSON.stringify(payload), asked);
      await expect(one('', 'x')).rejects.toThrow(/^the task cannot be enqueued: it has no type$/);
      await expect(one('a', 'x'.repeat(1_048_575))).rejects.toThrow(
        /^the task cannot be enqueued: its payload/,
      );
    },
  );

  test.each([
    [4000, '1e300'],
    [100, '1e131000'],
    [450, '1e131071'],
    [8, '1e131071'],
  ])('%i numbers of a few bytes that PostgreSQL writes as megabytes: %s', async (count, number) => {
    const numbers = `[${new Array(count).fill(number).join()}]`;
    const bulk = `[{"type": "work", "payload": ${numbers}}]`;
    const refused = (statement: string, ...values: unknown[]) =>
      expect(queue.admin.rows(`select taskq.${statement}`, ...values)).rejects.toThrow('larger than 1 MB');
    await refused('enqueue_many($1)', bulk);
    await refused('enqueue_many($1, \'{"key": "k"}\')', bulk);
    await refused("enqueue('work', $1)", numbers);
    await refused('enqueue(\'work\', $1, \'{"key": "k"}\')', numbers);
  });

  test('a column whose value is compressed to fewer bytes than it is written with', async () => {
    await queue.admin.rows('create table outbox (payload jsonb)');
    await queue.admin.rows('insert into outbox select jsonb_agg(1e131071) from generate_series(1, 150)');
    expect(await queue.admin.value('select pg_column_size(payload) < 128 from outbox')).toBe(true);
    const refused = (statement: string) =>
      expect(queue.admin.rows(`select ${statement} from outbox`)).rejects.toThrow('larger than 1 MB');
    await refused("taskq.enqueue('work', payload)");
    await refused('taskq.enqueue(\'work\', payload, \'{"key": "k"}\')');
    await refused(
      "taskq.enqueue_many(jsonb_build_array(jsonb_build_object('type', 'work', 'payload', payload)))",
    );
  });

  test('a row put in by hand whose payload is written with more', async () => {
    const insert = `insert into taskq.tasks (type, payload, available_at, not_before, created_at)
      select 'work', jsonb_agg(1e131071), now(), now(), now() from generate_series(1, 9)`;
    await expect(queue.admin.rows(insert)).rejects.toMatchObject({
      code: '23514',
      constraint: 'a_payload_has_at_most_1_mb_of_text',
    });
  });

  test('what is no list', async () => {
    await expect(queue.admin.rows("select taskq.enqueue_many('{}')")).rejects.toThrow(
      'enqueue_many takes a JSON array of tasks, not object',
    );
  });

  test.each([
    ['a payload', { type: 'a', payload: { a: ['\u0000'] } }],
    ['the name of a payload field', { type: 'a', payload: { '\u0000': 1 } }],
    ['a type', { type: 'a\u0000' }],
    ['a queue', { type: 'a', queue: '\u0000' }],
    ['a key', { type: 'a', key: 'k\u0000' }],
    ['a tag', { type: 'a', tags: { t: '\u0000' } }],
  ])('NUL in %s (22P05)', async (_, bad) => {
    await expect(many([{ type: 'work' }, bad])).rejects.toMatchObject({ code: '22P05' });
    expect(await queue.admin.value('select count(*)::int from taskq.tasks')).toBe(0);
  });

  test.each([
    ['a payload', { type: 'a', payload: { a: ['\ud83d'] } }],
    ['a type', { type: '\ude00' }],
    ['a queue', { type: 'a', queue: '\ud83d!' }],
    ['a key', { type: 'a', key: '\ude00\ud83d' }],
  ])('half of a character in %s (22P02)', async (_, bad) => {
    await expect(many([{ type: 'work' }, bad])).rejects.toMatchObject({ code: '22P02' });
    expect(await queue.admin.value('select count(*)::int from taskq.tasks')).toBe(0);
  });

  test('a payload of exactly 1 MB is taken', async () => {
    const [row] = await many([{ type: 'work', payload: 'x'.repeat(1_048_574) }]);
    expect(
      await queue.admin.value('select octet_length(payload::text) from taskq.tasks where id = $1', row!.id),
    ).toBe(1_048_576);
  });
});

describe('a payload comes out as it went in', () => {
  const nested = `${'['.repeat(5000)}1${']'.repeat(5000)}`;
  const payloads = [
    ['null', 'null'],
    ['false', 'false'],
    ['an empty text', '""'],
    ['2^53 + 1', '[9007199254740993]'],
    ['a number of 40 digits', '[1234567890123456789012345678901234567890]'],
    ['a number with an exponent', '[1e300]'],
    ['keys that JavaScript knows', '{"__proto__": {"polluted": 1}, "constructor": {"prototype": 2}}'],
    ['characters of four bytes', '{"😀": "é\\u0001\\"\\\\"}'],
    ['5,000 levels', nested],
  ] as const;
  test.each(payloads)('%s', async (_, text) => {
    const alone = await queue.admin.value<string>("select id from taskq.enqueue('work', $1)", text);
    const [bulk] = await enqueueMany(queue.admin, bulkOf([{ type: 'work', payload: text }]));
    const worker = await registerWorker(queue.admin);
    expect(await worker.claim({ start: 2 })).toHaveLength(2);
    const same =
      'select payload = $2::jsonb and payload::text = ($2::jsonb)::text from taskq.tasks where id = $1';
    expect(await queue.admin.value(same, alone, text)).toBe(true);
    expect(await queue.admin.value(same, bulk!.id, text)).toBe(true);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  test('100,000 levels are refused, and the session goes on', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    await expect(queue.admin.rows("select taskq.enqueue('work', $1)", deep)).rejects.toMatchObject({
      code: '54001',
    });
    expect(await enqueue(queue.admin)).toBeDefined();
  });

  test('it still does when the task has ended', async () => {
    const id = await queue.admin.value<string>(
      "select id from taskq.enqueue('work', '[9007199254740993, null]')",
    );
    await complete(id);
    expect((await finishedRow(queue.admin, id))!.payload).toEqual([9007199254740992, null]);
    expect(await queue.admin.value('select payload::text from taskq.finished_tasks where id = $1', id)).toBe(
      '[9007199254740993, null]',
    );
  });
});

test('allow_unknown is true or a list of types, also where it is the only option', async () => {
  for (const given of [{ allow_unknown: 'ghost' }, { allow_unknown: { ghost: false } }])
    for (const statement of [
      "select from taskq.enqueue('ghost', '{}', $1)",
      `select from taskq.enqueue_many('[{"type": "ghost"}]', $1)`,
    ])
      await expect(queue.admin.rows(statement, given)).rejects.toMatchObject({ code: '22023' });
});
