import { describe, expect, test } from 'vitest';
import { findIds, findTasks } from '../../src/queue/inspect/find-tasks.ts';
import type { TaskFilter } from '../../src/queue/inspect/task-filter.ts';
import { getEnds } from '../../src/queue/protocol/get-ends.ts';
import { enqueue, enqueueSome, makeDue } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

async function idsOf(filter: TaskFilter, limit = 100): Promise<string[]> {
  return (await findTasks(queue.admin, filter, limit)).tasks.map((task) => task.id);
}

/** One task in every status: its name and its id. */
async function oneOfEach(): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  const worker = await registerWorker(queue.admin);
  for (const kind of ['completed', 'dead', 'cancelled'] as const) {
    ids[kind] = await enqueue(queue.admin, { key: kind, tags: { kind } });
    await worker.settle(
      outcome(await claimOne(worker), kind, { reason: `why ${kind}`, error: { message: kind } }),
    );
  }
  ids.running = await enqueue(queue.admin, { queue: 'other' });
  await claimOne(worker, { queues: ['other'] });
  ids.leased = await enqueue(queue.admin);
  await claimOne(worker, { ahead: 1 });
  ids.failed = await enqueue(queue.admin);
  await worker.settle(outcome(await claimOne(worker), 'failed', { delay_ms: 60_000 }));
  ids.expired = await enqueue(queue.admin, { expires_ms: 1 });
  await queue.admin.rows('update taskq.tasks set expires_at = created_at where id = $1', ids.expired);
  await queue.admin.rows('select taskq.expire(1000)');
  ids.pending = await enqueue(queue.admin, { delay_ms: 60_000, tags: { kind: 'waiting', more: 'x' } });
  return ids;
}

describe('a list', () => {
  test('is of all tasks wherever they are, newest first', async () => {
    const ids = await oneOfEach();
    expect(await idsOf({})).toEqual(Object.values(ids).toSorted((a, b) => Number(b) - Number(a)));
  });

  test('shows of each the one status and the columns of all_tasks', async () => {
    const ids = await oneOfEach();
    const { tasks } = await findTasks(queue.admin, {}, 100);
    const statusOf = new Map(tasks.map((task) => [task.id, task.status]));
    for (const [name, id] of Object.entries(ids))
      expect(statusOf.get(id)).toBe(name === 'failed' ? 'pending' : name);
    const columns = await queue.admin.rows<{ name: string }>(
      "select attname as name from pg_attribute where attrelid = 'taskq.all_tasks'::regclass and attnum > 0",
    );
    expect(Object.keys(tasks[0]!).toSorted()).toEqual(columns.map((column) => column.name).toSorted());
  });

  test.each([{}, { status: ['dead'] }] as const)(
    'of %j: a page ends early where its tasks are large, and the next one goes on there',
    async (filter) => {
      const last = await enqueue(queue.admin, {}, { last: true });
      await queue.admin.rows(
        `select taskq.enqueue('work', to_jsonb(repeat(md5(n::text), 31000))) from generate_series(1, 40) as n`,
      );
      const first = await enqueue(queue.admin, {}, { first: true });
      if ('status' in filter)
        await queue.admin.rows("select taskq.add_dead(id, 'large') from taskq.tasks order by id");
      const found: string[] = [];
      let pages = 0;
      for (let after: string | null | undefined; after !== null; ) {
        const page = await findTasks(queue.admin, filter as TaskFilter, 1000, {
          after: after ?? null,
          lookMs: 60_000,
        });
        found.push(...page.tasks.map(({ id }) => id));
        expect(JSON.stringify(page).length).toBeLessThan(24_000_000);
        pages += 1;
        after = page.nextAfter;
      }
      expect(found).toEqual(Array.from({ length: 42 }, (_, n) => String(Number(first) - n)));
      expect(found.at(-1)).toBe(last);
      expect(pages).toBeGreaterThan(2);
      expect((await findTasks(queue.admin, filter as TaskFilter, 1000)).tasks).toHaveLength(42);
    },
  );

  test('also where what is large is the task that replaces a held one', async () => {
    const worker = await registerWorker(queue.admin);
    for (let n = 0; n < 20; n++) await enqueue(queue.admin, { key: String(n) });
    await worker.claim({ start: 20 });
    await queue.admin.rows(
      `select taskq.enqueue(
         'work', to_jsonb(repeat('a', 1000000)), jsonb_build_object('key', n::text, 'on_held', 'replace')
       ) from generate_series(0, 19) as n`,
    );
    const page = await findTasks(queue.admin, {}, 1000, { lookMs: 60_000 });
    expect(page.tasks[0]).toMatchObject({ again: { payload: expect.stringMatching(/^a{1000000}$/) } });
    expect(page.tasks.length).toBeLessThan(20);
    expect(page.nextAfter).not.toBe(null);
    const rest = await findTasks(queue.admin, {}, 1000, { after: page.nextAfter });
    expect(page.tasks.length + rest.tasks.length).toBe(20);
  });

  test('takes tasks by values in their payloads, compared as text, wherever they are', async () => {
    const worker = await registerWorker(queue.admin);
    const put = (payload: unknown) => enqueue(queue.admin, { queue: 'shop' }, payload);
    const ended = await put({ order: { id: 42 }, items: [{ sku: 'A7' }, { sku: 'B8' }] });
    await worker.settle(outcome(await claimOne(worker, { queues: ['shop'] }), 'completed'));
    const dead = await put({ order: { id: '42' }, paid: true });
    await worker.settle(outcome(await claimOne(worker, { queues: ['shop'] }), 'dead'));
    const live = await put({ order: { id: 42, paid: null }, paid: true });
    await put({ order: 42 });
    await put(42);
    await put({ 'order.id': 42 });
    const found = (payload: Record<string, string>, more: TaskFilter = {}) => idsOf({ payload, ...more });
    expect(await found({ 'order.id': '42' })).toEqual([live, dead, ended]);
    expect(await found({ 'order.id': '42', paid: 'true' })).toEqual([live, dead]);
    expect(await found({ 'order.id': '42' }, { status: ['dead'] })).toEqual([dead]);
    expect(await found({ 'items.1.sku': 'B8' })).toEqual([ended]);
    expect(await found({ 'order.paid': '' })).toEqual([]);
    expect(await found({ 'order.id': '4' })).toEqual([]);
    await expect(queue.admin.rows(`select taskq.find_ids('{"payload": ["a"]}')`)).rejects.toThrow(
      'filter: payload ["a"]: expected an object',
    );
  });

  test('takes what fits every field of the filter', async () => {
    const ids = await oneOfEach();
    const of = (...names: string[]) =>
      names.map((name) => ids[name]!).toSorted((a, b) => Number(b) - Number(a));
    expect(await idsOf({ status: ['running', 'dead'] })).toEqual(of('running', 'dead'));
    expect(await idsOf({ status: ['pending'], failed: true })).toEqual(of('failed'));
    expect(await idsOf({ failed: true })).toEqual(of('failed', 'dead'));
    expect(await idsOf({ queue: 'other' })).toEqual(of('running'));
    expect(await idsOf({ type: 'nothing' })).toEqual([]);
    expect(await idsOf({ key: 'completed' })).toEqual(of('completed'));
    expect(await idsOf({ tags: { kind: 'waiting' } })).toEqual(of('pending'));
    expect(await idsOf({ tags: { kind: 'waiting', more: 'y' } })).toEqual([]);
    expect(await idsOf({ since: '2100-01-01T00:00:00Z' })).toEqual([]);
    expect(await idsOf({ since: '2000-01-01T00:00:00Z', status: ['completed', 'expired'] })).toEqual(
      of('completed', 'expired'),
    );
    expect(await idsOf({ reason: 'why dead' })).toEqual(of('dead'));
    expect(await idsOf({ priority: 2, queue: 'other' })).toEqual(of('running'));
    expect(await idsOf({ priority: 3 })).toEqual([]);
    expect(await idsOf({ reason: 'why cancelled' })).toEqual(of('cancelled'));
    expect(await idsOf({ key: 'dead', tags: { kind: 'dead' }, status: ['dead'] })).toEqual(of('dead'));
    expect(await idsOf({ since: '2100-01-01T00:00:00Z', status: ['dead'] })).toEqual([]);
    expect(await idsOf({ before: '2000-01-01T00:00:00Z' })).toEqual([]);
    expect(await idsOf({ before: '2100-01-01T00:00:00Z', status: ['dead'] })).toEqual(of('dead'));
    expect(await idsOf({ by_hand: true })).toEqual([]);
    expect(await idsOf({ by_hand: false, status: ['dead'] })).toEqual(of('dead'));
  });

  test('is of what ended within a time, of a live task what was created within it', async () => {
    const ids = await oneOfEach();
    const at = '2020-06-01T00:00:00Z';
    // Each has a time within the span, and another one outside it.
    await queue.admin.rows(
      `update taskq.finished_tasks set finished_at = $2, created_at = '2020-01-01T00:00:00Z' where id = $1`,
      ids.completed,
      at,
    );
    await queue.admin.rows(
      'update taskq.finished_tasks set created_at = $2 where id = $1',
      ids.cancelled,
      at,
    );
    await queue.admin.rows('update taskq.dead_tasks set died_at = $2 where id = $1', ids.dead, at);
    await queue.admin.rows('update taskq.tasks set created_at = $2 where id = $1', ids.pending, at);
    const span = { since: at, before: '2020-07-01T00:00:00Z' };
    const newest = (...names: string[]) =>
      names.map((name) => ids[name]!).toSorted((a, b) => Number(b) - Number(a));
    expect(await idsOf(span)).toEqual(newest('completed', 'dead', 'pending'));
    expect(await idsOf({ ...span, status: ['dead'] })).toEqual([ids.dead]);
    expect(await idsOf({ before: at })).toEqual([]);
    expect(await idsOf({ before: at, status: ['dead'] })).toEqual([]);
    expect(await idsOf({ since: at, status: ['dead'] })).toEqual([ids.dead]);
  });

  test('in pages gives each task once, also while tasks are added', async () => {
    const ids = await enqueueSome(queue.admin, 25);
    const seen: string[] = [];
    let after: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof findTasks>> = await findTasks(queue.admin, {}, 10, { after });
      seen.push(...page.tasks.map((task) => task.id));
      after = page.nextAfter;
      await enqueue(queue.admin);
    } while (after !== null);
    expect(seen).toEqual(ids.toReversed());
  });

  test('refuses what is no filter, and a place that no page gave', async () => {
    const find = (filter: object, after: string | null = null) =>
      findTasks(queue.admin, filter as TaskFilter, 10, { after });
    await expect(find({ queues: 'mail' })).rejects.toMatchObject({ code: '22023' });
    await expect(find({}, 'x')).rejects.toMatchObject({ code: '22023' });
    await expect(find({ status: ['dead'] }, '7')).rejects.toMatchObject({ code: '22023' });
    for (const status of ['pending', null, {}]) {
      await expect(find({ status })).rejects.toMatchObject({
        code: '22023',
        message: `filter: status ${JSON.stringify(status)}: expected an array such as ["pending"]`,
      });
    }
  });

  test('of dead letters looks through all of them, window by window, the last to die first', async () => {
    const ids = await enqueueSome(queue.admin, 50);
    await queue.admin.rows(
      "select taskq.move_to_dead($1, array_fill('r'::text, array[50]), '2020-01-01T00:00:00Z')",
      ids,
    );
    await queue.admin.rows(
      "update taskq.dead_tasks set type = 'rare', died_at = died_at + (100 - id % 100) * interval '1 s' where id = any ($1)",
      [ids[3], ids[40]],
    );
    const seen: string[] = [];
    let after: string | null = null;
    do {
      const page: { tasks: { id: string }[]; next_after: string | null } = (await queue.admin.row(
        'select * from taskq.find_tasks(\'{"type": "rare", "status": ["dead"]}\', 10, $1, 7)',
        after,
      ))!;
      seen.push(...page.tasks.map((task) => task.id));
      after = page.next_after;
    } while (after !== null);
    expect(seen).toHaveLength(2);
    const times = await queue.admin.rows<{ id: string }>(
      "select id from taskq.dead_tasks where type = 'rare' order by died_at desc",
    );
    expect(seen).toEqual(times.map(({ id }) => id));
  });

  test('a filter that little fits looks through the whole table, window by window', async () => {
    const ids = await enqueueSome(queue.admin, 50);
    await queue.admin.rows("update taskq.tasks set type = 'rare' where id = any ($1)", [ids[3], ids[40]]);
    const seen: string[] = [];
    let after: string | null = null;
    do {
      const page: { tasks: { id: string }[]; next_after: string | null } = (await queue.admin.row(
        'select * from taskq.find_tasks(\'{"type": "rare"}\', 10, $1, 7)',
        after,
      ))!;
      seen.push(...page.tasks.map((task) => task.id));
      after = page.next_after;
    } while (after !== null);
    expect(seen).toEqual([ids[40], ids[3]]);
  });

  test('of ids alone, for verbs that act on many', async () => {
    const ids = await enqueueSome(queue.admin, 1500);
    const pages: (readonly string[])[] = [];
    for await (const page of findIds(queue.admin, { type: 'work' })) pages.push(page);
    expect(pages.map((page) => page.length)).toEqual([1000, 500]);
    expect(pages.flat()).toEqual(ids.toReversed());
    const some: (readonly string[])[] = [];
    for await (const page of findIds(queue.admin, { type: 'work' }, { limit: 120, pageSize: 100 }))
      some.push(page);
    expect(some).toEqual([ids.toReversed().slice(0, 100), ids.toReversed().slice(100, 120)]);
  });
});

test('the end of each ended task is returned, and that the others are live', async () => {
  const ids = await oneOfEach();
  await makeDue(queue.admin, [ids.failed!]);
  const ends = await getEnds(queue.admin, [...Object.values(ids), '999999999']);
  const endOf = new Map(ends.map((end) => [end.id, end]));
  expect(ends).toHaveLength(Object.keys(ids).length);
  expect(endOf.get(ids.completed!)).toMatchObject({ status: 'completed', live: false });
  expect(endOf.get(ids.cancelled!)).toMatchObject({
    status: 'cancelled',
    reason: 'why cancelled',
    live: false,
  });
  expect(endOf.get(ids.dead!)).toMatchObject({
    status: 'dead',
    reason: 'why dead',
    error: { message: 'dead' },
    live: false,
  });
  expect(endOf.get(ids.expired!)).toMatchObject({ status: 'expired', live: false });
  expect(endOf.get(ids.running!)).toMatchObject({ status: 'running', live: true });
});

test('a look that may take no longer ends with where to go on, although it has found nothing yet', async () => {
  await queue.admin.rows(
    `insert into taskq.tasks (queue, type, priority, payload, available_at, not_before, created_at)
     select 'default', case when n = 1 then 'rare' else 'work' end, 2, '{}', now(), now(), now()
     from generate_series(1, 25000) as n`,
  );
  const first = await findTasks(queue.admin, { type: 'rare' }, 1, { lookMs: 0 });
  expect(first).toEqual({ tasks: [], nextAfter: expect.any(String) });
  const second = await findTasks(queue.admin, { type: 'rare' }, 1, { after: first.nextAfter });
  expect(second.tasks).toMatchObject([{ type: 'rare' }]);
});
