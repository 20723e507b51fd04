import { describe, expect, test } from 'vitest';
import { addTypes } from '../../src/queue/operate/add-types.ts';
import { setQueue } from '../../src/queue/operate/set-queue.ts';
import {
  type Registered,
  registerWorker,
  unregisterWorker,
} from '../../src/queue/protocol/register-worker.ts';
import { enqueue, liveRow } from './rows.ts';
import { useDatabase } from './session.ts';
import { waitUntilBlocked } from './waiting.ts';

const queue = useDatabase();

let worker = 0;

/** Registers a worker of that name with what it says. */
function register(
  name: string,
  types: Record<string, object> = {},
  defaults?: object,
  queueSettings?: Record<string, object>,
): Promise<Registered> {
  worker += 1;
  const about = { uniquePart: String(worker), version: '0', concurrency: 1, leaseMs: 30_000, pollMs: 1000 };
  return registerWorker(queue.admin, {
    ...about,
    name,
    types,
    defaults,
    queueSettings,
    queues: null,
    paused: true,
  });
}

const typeRow = (type = 'work') => queue.admin.row('select * from taskq.task_types where name = $1', type);
const defaults = () => queue.admin.row('select * from taskq.defaults');
const set = (what: string, ...values: unknown[]) => queue.admin.rows(`select taskq.${what}`, ...values);

describe('what a worker says of a type', () => {
  test('holds for every producer: where a task without a queue goes, and how urgent it is', async () => {
    await register('a', { mail: { queue: 'post', priority: 7 } });
    const ids = [
      await queue.admin.value<string>("select id from taskq.enqueue('mail')"),
      await queue.admin.value<string>(
        `select id from taskq.enqueue('mail', '{}', '{"key": "a", "key_for": "ever"}')`,
      ),
      await queue.admin.value<string>(`select id from taskq.enqueue_many('[{"type": "mail"}]')`),
      await queue.admin.value<string>(
        `select id from taskq.enqueue_many('[{}, {}]', '{"type": "mail"}') limit 1`,
      ),
      await queue.admin.value<string>(
        `select id from taskq.enqueue_many('[{"key": "b", "key_for": "1d"}, {"key": "c"}]', '{"type": "mail"}') where place = 1`,
      ),
    ];
    for (const id of ids)
      expect(await liveRow(queue.admin, id)).toMatchObject({ queue: 'post', priority: 7 });
    expect(await queue.admin.rows('select queue, key from taskq.held_keys order by key')).toEqual([
      { queue: 'post', key: 'a' },
      { queue: 'post', key: 'b' },
    ]);
    const given = await queue.admin.value<string>(
      `select id from taskq.enqueue('mail', '{}', '{"queue": "own", "priority": 1}')`,
    );
    expect(await liveRow(queue.admin, given)).toMatchObject({ queue: 'own', priority: 1 });
    expect(await liveRow(queue.admin, await enqueue(queue.admin))).toMatchObject({
      queue: 'default',
      priority: 2,
    });
  });

  test('yields to what an operator has set, before and after, and comes back when that is taken away', async () => {
    await set("set_type('work', $1)", { max_attempts: 4, queue: 'ops' });
    await register('a', { work: { max_attempts: 9, timeout_ms: 5 } });
    expect(await typeRow()).toMatchObject({ max_attempts: 4, timeout_ms: '5', queue: 'ops' });
    await set("set_type('work', $1)", { max_attempts: null, timeout_ms: 6, priority: 'low' });
    expect(await typeRow()).toMatchObject({ max_attempts: 9, timeout_ms: '6', queue: 'ops', priority: 3 });
    await register('b', { work: {} });
    expect(await typeRow()).toMatchObject({ max_attempts: null, timeout_ms: '6', queue: 'ops' });
    expect(await queue.admin.value("select taskq.get_type('work')")).toEqual({
      timeout_ms: { value: 6, from: 'operator', worker: null },
      priority: { value: 3, from: 'operator', worker: null },
      queue: { value: 'ops', from: 'operator', worker: null },
    });
  });

  test('a worker that contradicts another live worker or an operator gets their values, and whose they are', async () => {
    const first = await register('a', { work: { max_attempts: 3, queue: 'a' }, own: {} });
    expect(first.differing).toEqual([]);
    const name = await queue.admin.value<string>('select name from taskq.workers');
    await set("set_type('work', $1)", { timeout_ms: 5 });
    const second = await register('b', { work: { max_attempts: 4, timeout_ms: 6 } });
    expect(second.differing).toEqual([
      { type: 'work', queue: null, setting: 'max_attempts', value: 4, other: 3, by: name },
      { type: 'work', queue: null, setting: 'queue', value: null, other: 'a', by: name },
      { type: 'work', queue: null, setting: 'timeout_ms', value: 6, other: 5, by: null },
    ]);
    expect((await register('c', { work: { max_attempts: 4 } })).differing).toEqual([]);
    await queue.admin.rows('update taskq.workers set stopped_at = clock_timestamp()');
    expect((await register('d', { work: { max_attempts: 5 } })).differing).toEqual([]);
  });
});

describe('what a worker says of all tasks', () => {
  test('holds for every producer, below what an operator has set, above what is built in', async () => {
    await register('a', {}, { max_attempts: 20, retention: '2d' });
    expect(await defaults()).toMatchObject({ max_attempts: 20, retention: '2d', errors_retention: '30d' });
    await set('set_defaults($1)', { max_attempts: 5, errors_retention: '1d' });
    await register('b', {}, { max_attempts: 21 });
    expect(await defaults()).toMatchObject({ max_attempts: 5, retention: '2d', errors_retention: '1d' });
    await set('set_defaults($1)', { max_attempts: null });
    expect(await defaults()).toMatchObject({ max_attempts: 21, retention: '2d', errors_retention: '1d' });
    const name = await queue.admin.value<string>("select name from taskq.workers where given_name = 'b'");
    expect(await queue.admin.value('select taskq.get_defaults()')).toMatchObject({
      max_attempts: { value: 21, from: 'worker', worker: name },
      errors_retention: { value: '1d', from: 'operator', worker: null },
      timeout_ms: { value: null, from: 'built in', worker: null },
      backoff: { value: { kind: 'exponential' }, from: 'built in' },
    });
  });

  test('stays while a worker lives that said it, whatever others leave open, and goes with the next one after', async () => {
    const { workerId } = await register('a', {}, { max_attempts: 20 });
    await register('other', {}, {});
    await register('library');
    expect(await defaults()).toMatchObject({ max_attempts: 20 });
    await unregisterWorker(queue.admin, workerId);
    await register('library');
    expect(await defaults()).toMatchObject({ max_attempts: 20 });
    await register('other', {}, { timeout_ms: 9 });
    expect(await defaults()).toMatchObject({ max_attempts: 3, timeout_ms: '9' });
  });

  test('a worker that contradicts it gets the other value, and whose it is', async () => {
    await register('a', {}, { max_attempts: 20, timeout_ms: 5 });
    await set('set_defaults($1)', { timeout_ms: 6 });
    const [{ name }] = (await queue.admin.rows<{ name: string }>('select name from taskq.workers')) as [
      { name: string },
    ];
    expect((await register('b', {}, { max_attempts: 21, timeout_ms: 5, retention: '1d' })).differing).toEqual(
      [
        { type: null, queue: null, setting: 'max_attempts', value: 21, other: 20, by: name },
        { type: null, queue: null, setting: 'timeout_ms', value: 5, other: 6, by: null },
      ],
    );
  });

  test('is asked for again later if the defaults are locked', async () => {
    const operator = await queue.session();
    await operator.rows('begin');
    await operator.rows('select taskq.set_defaults($1)', { timeout_ms: 6 });
    const { typesLeft, workerId } = await register('a', {}, { max_attempts: 20 });
    expect(typesLeft).toBe(true);
    await operator.rows('commit');
    const again = 'select stored from taskq.reload_worker($1, $2, $3)';
    expect(await queue.admin.value(again, workerId, {}, { defaults: { max_attempts: 20 } })).toBe(true);
    expect(await defaults()).toMatchObject({ max_attempts: 20, timeout_ms: '6' });
  });
});

describe('what a worker says of a queue', () => {
  const queueRow = (name = 'mail') => queue.admin.row('select * from taskq.queues where name = $1', name);
  const say = (name: string, queues: Record<string, object>) => register(name, {}, {}, queues);

  test('holds for every producer, with everything that a queue may be set, and only below its type', async () => {
    const backoff = { kind: 'fixed', base_ms: 1 };
    await register(
      'a',
      { work: {}, other: { max_attempts: 7 } },
      {},
      {
        mail: {
          ...{ max_attempts: 4, timeout_ms: 5, expires_ms: 6000, backoff, retention: '2d' },
          ...{ errors_retention: '3d', dead_retention: '4d' },
        },
      },
    );
    expect(await queueRow()).toMatchObject({
      ...{ max_attempts: 4, timeout_ms: '5', expires_ms: '6000', backoff, retention: '2d' },
      ...{ errors_retention: '3d', dead_retention: '4d' },
    });
    const id = await enqueue(queue.admin, { queue: 'mail' });
    const other = await queue.admin.value(`select id from taskq.enqueue('other', '{}', '{"queue": "mail"}')`);
    const applies = "select applies #>> '{max_attempts,from}' from taskq.all_tasks where id = $1";
    expect([await queue.admin.value(applies, id), await queue.admin.value(applies, other)]).toEqual([
      'queue',
      'type',
    ]);
    expect(await queue.admin.value('select expires_at is not null from taskq.tasks where id = $1', id)).toBe(
      true,
    );
  });

  test('yields to what an operator has set, before and after, and comes back when that is taken away', async () => {
    await set("set_queue('mail', $1)", { max_attempts: 4 });
    await say('a', { mail: { max_attempts: 9, timeout_ms: 5 } });
    expect(await queueRow()).toMatchObject({ max_attempts: 4, timeout_ms: '5' });
    await set("set_queue('mail', $1)", { max_attempts: null, timeout_ms: 6 });
    expect(await queueRow()).toMatchObject({ max_attempts: 9, timeout_ms: '6' });
    await say('a', { mail: { retention: '1d' } });
    expect(await queueRow()).toMatchObject({ max_attempts: null, timeout_ms: '6', retention: '1d' });
  });

  test('stays while a worker lives that said it, whatever others leave out, and goes with the next one after', async () => {
    const { workerId } = await say('a', { mail: { max_attempts: 9 } });
    await say('other', { reports: { max_attempts: 2 } });
    await register('library');
    expect(await queueRow()).toMatchObject({ max_attempts: 9 });
    await unregisterWorker(queue.admin, workerId);
    await register('library');
    expect(await queueRow()).toMatchObject({ max_attempts: 9 });
    await say('other', { reports: { max_attempts: 2 } });
    expect(await queueRow()).toMatchObject({ max_attempts: null, registered_by: null });
    expect(await queueRow('reports')).toMatchObject({ max_attempts: 2 });
  });

  test('a worker that contradicts another live worker or an operator gets their values, and whose they are', async () => {
    expect((await say('a', { mail: { max_attempts: 3, retention: '1d' } })).differing).toEqual([]);
    const name = await queue.admin.value<string>('select name from taskq.workers');
    await set("set_queue('mail', $1)", { timeout_ms: 5 });
    expect((await say('b', {})).differing).toEqual([]);
    expect((await say('c', { mail: { max_attempts: 4, timeout_ms: 6 }, own: {} })).differing).toEqual([
      { type: null, queue: 'mail', setting: 'max_attempts', value: 4, other: 3, by: name },
      { type: null, queue: 'mail', setting: 'retention', value: null, other: '1d', by: name },
      { type: null, queue: 'mail', setting: 'timeout_ms', value: 6, other: 5, by: null },
    ]);
    await queue.admin.rows('update taskq.workers set stopped_at = clock_timestamp()');
    expect((await say('d', { mail: { max_attempts: 5 } })).differing).toEqual([]);
  });

  test.each([
    ['sets the queue', "select taskq.set_queue('mail', $1)", {}],
    ['is just adding it', "insert into taskq.queues (name, operator) values ('mail', $1)", undefined],
  ])('is asked for again later if another session %s', async (_what, statement, there) => {
    if (there !== undefined) await set("set_queue('mail', $1)", there);
    const operator = await queue.session();
    await operator.rows('begin');
    await operator.rows(statement, { timeout_ms: 6 });
    const { typesLeft, workerId } = await say('a', { mail: { max_attempts: 20 }, own: { max_attempts: 2 } });
    expect(typesLeft).toBe(true);
    expect(await queueRow('own')).toMatchObject({ max_attempts: 2 });
    await operator.rows('commit');
    const again = 'select stored from taskq.reload_worker($1, $2, $3)';
    const given = { defaults: {}, queue_settings: { mail: { max_attempts: 20 }, own: { max_attempts: 2 } } };
    expect(await queue.admin.value(again, workerId, {}, given)).toBe(true);
    expect(await queueRow()).toMatchObject({ max_attempts: 20, timeout_ms: '6' });
  });

  test.each([
    ['mail', { priority: 1 }],
    ['mail', { max_attempts: 0 }],
    ['mail', { dead_retention: 'none' }],
    ['', {}],
    ['q'.repeat(201), {}],
  ])('is refused where it cannot be: %j %j', async (name, settings) => {
    await expect(say('a', { [name]: settings })).rejects.toMatchObject({ code: '22023' });
  });
});

describe('how long a task may wait', () => {
  /** How long after it is due it expires, in seconds, by each way to enqueue; null: never. */
  async function waits(type: string, options: object = {}): Promise<(number | null)[]> {
    const ways = [
      ['select id from taskq.enqueue($1, $2, $3)', type, {}, options],
      ['select id from taskq.enqueue($1, $2, $3)', type, {}, { ...options, key: 'one' }],
      ['select id from taskq.enqueue_many($1)', [{ type, ...options }]],
      ['select id from taskq.enqueue_many($1, $2)', [{ type }, { type }], options],
      ['select id from taskq.enqueue_many($1, $2)', [{ type, key: 'two' }, { type }], options],
    ] as const;
    const seconds: (number | null)[] = [];
    for (const [text, ...values] of ways) {
      for (const { id } of await queue.admin.rows<{ id: string }>(
        text,
        ...values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))),
      )) {
        const left =
          'select extract(epoch from expires_at - not_before)::integer from taskq.tasks where id = $1';
        seconds.push(await queue.admin.value(left, id));
      }
    }
    await queue.admin.rows('delete from taskq.tasks');
    return [...new Set(seconds)];
  }

  test('is said by the task, else an operator of its type, its handler, its queue, an operator of all, a configuration', async () => {
    expect(await waits('work')).toEqual([null]);
    await register('a', { work: {} }, { expires_ms: 1000 });
    expect(await waits('work')).toEqual([1]);
    await set('set_defaults($1)', { expires_ms: 2000 });
    expect(await waits('work')).toEqual([2]);
    await set("set_queue('default', $1)", { expires_ms: 3000 });
    expect(await waits('work')).toEqual([3]);
    expect(await waits('work', { queue: 'other' })).toEqual([2]);
    await register('a', { work: { expires_ms: 4000 }, other: {} }, { expires_ms: 1000 });
    expect(await waits('work')).toEqual([4]);
    expect(await waits('other')).toEqual([3]);
    await set("set_type('work', $1)", { expires_ms: 5000 });
    expect(await waits('work')).toEqual([5]);
    expect(await waits('work', { expires_ms: 6000 })).toEqual([6]);
    await set("set_type('work', $1)", { expires_ms: null });
    await set("set_queue('default', $1)", { expires_ms: null });
    await set('set_defaults($1)', { expires_ms: null });
    expect([await waits('work'), await waits('other')]).toEqual([[4], [1]]);
  });

  test('is returned for a type and for all with its source', async () => {
    await register('a', { work: { expires_ms: 4000 } }, { expires_ms: 1000 });
    const worker = await queue.admin.value<string>('select name from taskq.workers');
    const shown = (value: number) => ({ expires_ms: { value, from: 'worker', worker } });
    expect(await queue.admin.value("select taskq.get_type('work')")).toEqual(shown(4000));
    expect(await queue.admin.value('select taskq.get_defaults()')).toMatchObject(shown(1000));
    expect(await queue.admin.value("select extra from taskq.list_types() where name = 'work'")).toMatchObject(
      {
        expires_ms: 4000,
      },
    );
  });

  test.each([0, -1, 'soon', 1.5])('cannot be %j', async (expires_ms) => {
    for (const what of ['set_defaults($1)', "set_type('work', $1)", "set_queue('default', $1)"])
      await expect(set(what, { expires_ms })).rejects.toMatchObject({ code: '22023' });
    await expect(register('a', { work: { expires_ms } })).rejects.toMatchObject({ code: '22023' });
    await expect(register('a', {}, { expires_ms })).rejects.toMatchObject({ code: '22023' });
  });
});

test.each([
  'set_defaults(null)',
  "set_type('work', null)",
  "set_queue('default', null)",
  "set_group('default', 'a', null)",
  'set_worker(1, null)',
  "edit('{1}', null)",
])('taskq.%s is refused: it would set nothing, and say nothing', async (what) => {
  await expect(set(what)).rejects.toMatchObject({
    code: '22023',
    message: expect.stringMatching(/: expected options as an object, not null$/),
  });
});

test('a type is removed with what was set for it, unless a live worker handles it', async () => {
  const remove = (type: string) => queue.admin.value('select taskq.remove_type($1)', type);
  await set("set_type('mail', $1)", { max_attempts: 4 });
  const { workerId } = await register('a', { mail: {} });
  expect(await remove('mail')).toBe('handled');
  await unregisterWorker(queue.admin, workerId);
  expect([await remove('mail'), await remove('mail')]).toEqual(['removed', 'not_known']);
  await expect(queue.admin.rows("select taskq.enqueue('mail')")).rejects.toThrow('unknown type "mail"');
});

test.each(['', 'a//b', '/a', 'a/', 'a/../b', '.', 'a\\b', ' a', 'a\n', 'a\u0085b'])(
  'a name that no handler can have is refused, as a type that is added and one that is set: %j',
  async (name) => {
    await expect(addTypes(queue.admin, ['fine', name])).rejects.toMatchObject({ code: '22023' });
    await expect(set('set_type($1, $2)', name, { max_attempts: 1 })).rejects.toMatchObject({ code: '22023' });
    expect(await typeRow('fine')).toBeUndefined();
  },
);

test('two settings of a queue that are set at the same time are both set', async () => {
  await setQueue(queue.admin, 'mail', { retention: '9d' });
  const [first, second] = [await queue.session(), await queue.session()];
  await first.rows('begin');
  await setQueue(first, 'mail', { max_attempts: 7 });
  const other = setQueue(second, 'mail', { timeout_ms: 5000 });
  await waitUntilBlocked(queue.admin);
  await first.rows('commit');
  await other;
  expect(
    await queue.admin.row("select max_attempts, timeout_ms, retention from taskq.queues where name = 'mail'"),
  ).toEqual({ max_attempts: 7, timeout_ms: '5000', retention: '9d' });
});
