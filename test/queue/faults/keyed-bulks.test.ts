import { expect, test } from 'vitest';
import { listenTo } from '../listening.ts';
import { type Session, useDatabase } from '../session.ts';
import { patiently, waitUntil, waitUntilBlocked } from '../waiting.ts';

const queue = useDatabase();

interface Made {
  readonly place: string;
  readonly id: string;
  readonly created: boolean;
}

function many(session: Session, tasks: readonly object[], options: object = {}): Promise<Made[]> {
  const text = 'select place, id, created from taskq.enqueue_many($1, $2) order by place';
  return session.rows<Made>(text, JSON.stringify(tasks.map((task) => ({ type: 'work', ...task }))), options);
}

/**
 * The first bulk finds `a` held, makes `b`, and waits for `z`, which an open transaction holds. The holder of `a` is gone
 * before it goes on, and the second bulk waits for `b`.
 */
async function interleave(tasks: readonly object[], others: readonly object[], options: object = {}) {
  const [open, a, b] = await Promise.all([queue.session(), queue.session(), queue.session()]);
  const [holder] = await many(queue.admin, [{ key: 'a' }]);
  await open.rows('begin');
  await many(open, [{ key: 'z' }]);
  const first = many(a, tasks, options);
  await waitUntilBlocked(queue.admin, 1);
  await queue.admin.rows('select from taskq.cancel($1)', [holder!.id]);
  const second = many(b, others, options);
  await waitUntilBlocked(queue.admin, 2);
  await open.rows('rollback');
  return Promise.all([first, second]);
}

const KEYS = 'select unique_key as key, id from taskq.tasks where unique_key is not null order by unique_key';

test.each(['live', '24h'])(
  'of two bulks of the same keys (%s) none is the victim of a deadlock where a key comes free between them',
  async (keyFor) => {
    const [first, second] = await interleave(
      [{ key: 'z' }, { key: 'b' }, { key: 'a' }],
      [{ key: 'b' }, { key: 'a' }],
      { key_for: keyFor },
    );
    expect(second).toMatchObject([{ created: true }, { created: true }]);
    expect(first).toMatchObject([
      { created: true },
      { created: false, id: second[0]!.id },
      { created: false, id: second[1]!.id },
    ]);
    const made = [
      { key: 'a', id: second[1]!.id },
      { key: 'b', id: second[0]!.id },
      { key: 'z', id: first[0]!.id },
    ];
    expect(await queue.admin.rows(KEYS)).toEqual(made);
    const held = 'select key, task_id as id from taskq.held_keys order by key';
    expect(await queue.admin.rows(held)).toEqual(keyFor === 'live' ? [] : made);
  },
);

test('a bulk that restarts for a freed key answers and notifies as if it had not restarted', async () => {
  const held = await many(queue.admin, [{ key: 'k' }]);
  await queue.admin.rows("insert into taskq.idle_marks values (1, null, 'infinity')");
  const wakes = await listenTo(queue, 'taskq_wake');
  const [first, second] = await interleave(
    [{ key: 'b' }, { key: 'c' }, {}, { key: 'z' }, { key: 'k' }, { key: 'a' }, { key: 'c' }],
    [{ key: 'a' }, { key: 'b' }],
    { delay_ms: 3_600_000 },
  );
  const [a, b] = second.map(({ id }) => id);
  const [, c, keyless, z] = first.map(({ id }) => id);
  expect(first).toEqual([
    { place: '1', created: false, id: b },
    { place: '2', created: true, id: c },
    { place: '3', created: true, id: keyless },
    { place: '4', created: true, id: z },
    { place: '5', created: false, id: held[0]!.id },
    { place: '6', created: false, id: a },
    { place: '7', created: false, id: c },
  ]);
  const live = await queue.admin.rows<{ id: string }>('select id from taskq.tasks');
  const ids = [...held, ...first, ...second].map(({ id }) => id);
  expect(new Set(live.map(({ id }) => id))).toEqual(new Set(ids));
  await waitUntil(async () => wakes.received.length >= 3, 'fewer than three were told');
  // For the task that held `a`, and once for each bulk.
  expect(wakes.received).toHaveLength(3);
});

test('a bulk that meets a key taken concurrently answers and notifies as if it had been taken before', async () => {
  await queue.admin.rows("insert into taskq.idle_marks values (1, null, 'infinity')");
  const wakes = await listenTo(queue, 'taskq_wake');
  const [open, session] = await Promise.all([queue.session(), queue.session()]);
  await open.rows('begin');
  const [z] = await many(open, [{ key: 'z', delay_ms: 3_600_000 }]);
  const bulk = many(session, [{ key: 'b' }, {}, { key: 'z' }, { key: 'a' }], { delay_ms: 3_600_000 });
  await waitUntilBlocked(queue.admin);
  await open.rows('commit');
  const made = await bulk;
  expect(made).toMatchObject([
    { place: '1', created: true },
    { place: '2', created: true },
    { place: '3', created: false, id: z!.id },
    { place: '4', created: true },
  ]);
  const live = await queue.admin.rows<{ id: string; key: string | null }>(
    'select id, unique_key as key from taskq.tasks order by id',
  );
  expect(live).toEqual([
    { id: z!.id, key: 'z' },
    { id: made[0]!.id, key: 'b' },
    { id: made[1]!.id, key: null },
    { id: made[3]!.id, key: 'a' },
  ]);
  await waitUntil(async () => wakes.received.length >= 2, 'fewer than two were told');
  expect(wakes.received).toHaveLength(2);
});

test('a bulk with a key that a repeatable-read transaction cannot see held is an error to repeat', async () => {
  const session = await queue.session();
  await session.rows('begin isolation level repeatable read');
  await session.rows('select from taskq.defaults');
  await many(queue.admin, [{ key: 'k' }]);
  await expect(many(session, [{ key: 'a' }, { key: 'k' }])).rejects.toMatchObject({ code: '40001' });
  await session.rows('rollback');
  expect(await queue.admin.rows(KEYS)).toMatchObject([{ key: 'k' }]);
});

test.each(['cancel', 'retry'])(
  'a bulk that replaces tasks and a %s of the same tasks never deadlock',
  async (verb) => {
    const [producer, operator, open] = await Promise.all([queue.session(), queue.session(), queue.session()]);
    // The order of their ids is not that of their keys.
    const tasks = await many(queue.admin, [{ key: 'b' }, { key: 'a' }]);
    const ids = tasks.map(({ id }) => id);
    await open.rows('begin');
    await open.rows('select from taskq.tasks where id = any ($1) for update', ids);
    const replaced = await patiently(queue.admin, [verb], async () => {
      const acts = operator.rows(`select from taskq.${verb}($1)`, ids);
      await waitUntilBlocked(queue.admin, 1);
      const replaces = many(producer, [{ key: 'a' }, { key: 'b' }], { on_held: 'replace' });
      await waitUntilBlocked(queue.admin, 2);
      await open.rows('commit');
      await acts;
      return replaces;
    });
    expect(replaced).toHaveLength(2);
  },
);
