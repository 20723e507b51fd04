import { describe, expect, test } from 'vitest';
import { enqueue, enqueueSome, liveRow } from './rows.ts';
import { useDatabase } from './session.ts';
import { outcome, type PlainWorker, registerWorker } from './worker.ts';

const queue = useDatabase();

const inGroup = (options: object = {}) => enqueue(queue.admin, { group: 'ann', ...options });

function setGroup(settings: object): Promise<unknown> {
  return queue.admin.rows("select taskq.set_group('default', 'ann', $1)", JSON.stringify(settings));
}

function setQueue(settings: object): Promise<unknown> {
  return queue.admin.rows("select taskq.set_queue('default', $1)", JSON.stringify(settings));
}

const worker = async () => registerWorker(await queue.session());

/** The ids of what a claim of up to ten tasks takes. */
async function claimed(by: PlainWorker, types = ['work']): Promise<string[]> {
  return (await by.claim({ start: 10, types })).map(({ id }) => id);
}

/** As if this much time had passed for the rates of groups and for what they ask. */
async function pass(interval: string): Promise<void> {
  await queue.admin.rows('update taskq.group_rates set used_to = used_to - $1::interval', interval);
  await queue.admin.rows('update taskq.asks set due_at = due_at - $1::interval', interval);
}

/** In how many seconds the groups ask for a look at them, first ones first. */
const asks = async () =>
  (
    await queue.admin.rows<{ s: number }>(
      'select extract(epoch from due_at - now())::float8 as s from taskq.asks order by due_at',
    )
  ).map(({ s }) => s);

describe('a group with a rate', () => {
  test('starts its burst at once, then one task each time that the rate allows one', async () => {
    await setGroup({ rate: '1/1m', burst: 3 });
    const ids = await enqueueSome(queue.admin, 6, { group: 'ann' });
    const other = await enqueue(queue.admin, { group: 'bob' });
    const me = await worker();
    expect(await claimed(me)).toEqual([...ids.slice(0, 3), other]);
    expect(await claimed(me)).toEqual([]);
    await pass('59 s');
    expect(await claimed(me)).toEqual([]);
    await pass('1 s');
    expect(await claimed(me)).toEqual([ids[3]]);
    await pass('61 s');
    expect(await claimed(me)).toEqual([ids[4]]);
    expect(await claimed(me)).toEqual([]);
    await pass('1 h');
    expect(await claimed(me)).toEqual([ids[5]]);
  });

  test('asks once for the time of its next slot, however many tasks come meanwhile', async () => {
    await setGroup({ rate: '1/1h' });
    await inGroup();
    const me = await worker();
    await me.claim();
    for (let n = 0; n < 5; n++) {
      await inGroup();
      await me.claim();
    }
    const [first, ...others] = await asks();
    expect(first).toBeGreaterThan(60);
    expect(first).toBeLessThanOrEqual(3600);
    // The one that takes the row of its rate away.
    expect(others.length).toBeLessThanOrEqual(1);
  });

  test('has its limit too', async () => {
    await setGroup({ rate: '1/1m', burst: 5, limit: 2 });
    const ids = await enqueueSome(queue.admin, 5, { group: 'ann' });
    const me = await worker();
    const first = await me.claim({ start: 10 });
    expect(first.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    await me.settle(...first.map((task) => outcome(task, 'completed')));
    const second = await me.claim({ start: 10 });
    expect(second.map(({ id }) => id)).toEqual(ids.slice(2, 4));
    await me.settle(...second.map((task) => outcome(task, 'completed')));
    expect(await claimed(me)).toEqual([ids[4]]);
  });

  test('gives no more slots than its burst to tasks that no worker claims, and goes on when they are claimed', async () => {
    await setGroup({ rate: '1/1m', burst: 2 });
    const ids = await enqueueSome(queue.admin, 5, { group: 'ann' });
    const me = await worker();
    await claimed(me, ['other']);
    for (let n = 0; n < 3; n++) {
      await pass('1 h');
      await claimed(me, ['other']);
    }
    const given = "select id::text from taskq.tasks where status = 'pending' order by id";
    expect(await queue.admin.rows(given)).toEqual(ids.slice(0, 2).map((id) => ({ id })));
    await pass('1 h');
    expect(await claimed(me)).toEqual(ids.slice(0, 2));
    await pass('1 h');
    expect(await claimed(me)).toEqual(ids.slice(2, 4));
  });

  test('keeps its order, and a slot that a more urgent task takes costs no start', async () => {
    await setGroup({ rate: '1/1h', limit: 2 });
    const late = await inGroup();
    const me = await worker();
    await claimed(me, ['other']);
    expect(await liveRow(queue.admin, late)).toMatchObject({ gate: 'h' });
    const urgent = await inGroup({ priority: 0 });
    expect(await claimed(me)).toEqual([urgent]);
    expect(await liveRow(queue.admin, late)).toMatchObject({ gate: 'w' });
    expect(await claimed(me)).toEqual([]);
    await pass('1 h');
    expect(await claimed(me)).toEqual([late]);
  });

  test('that is paused gives back the starts that it did not use', async () => {
    await setGroup({ rate: '1/1h', burst: 2 });
    const ids = await enqueueSome(queue.admin, 3, { group: 'ann' });
    const me = await worker();
    await claimed(me, ['other']);
    await queue.admin.rows("select taskq.pause_group('default', 'ann')");
    expect(await claimed(me)).toEqual([]);
    await queue.admin.rows("select taskq.resume_group('default', 'ann')");
    expect(await claimed(me)).toEqual(ids.slice(0, 2));
    expect(await claimed(me)).toEqual([]);
  });

  test('takes a slot back under its mutex alone, and keeps its order meanwhile', async () => {
    await setGroup({ rate: '1/1h', limit: 1 });
    const late = await inGroup();
    const me = await worker();
    await claimed(me, ['other']);
    const urgent = await inGroup({ priority: 0 });
    const other = await queue.session();
    await other.rows('begin');
    await other.rows(
      "select from taskq.group_mutexes where place = taskq.mutex_of('default', 'ann') for no key update",
    );
    expect(await claimed(me)).toEqual([]);
    expect(await liveRow(queue.admin, late)).toMatchObject({ gate: 'h' });
    await other.rows('rollback');
    await expect.poll(() => claimed(me)).toEqual([urgent]);
  });

  test('counts each attempt under relaxed order, and one that is given back after its start', async () => {
    await setQueue({ group_order: 'relaxed' });
    await setGroup({ rate: '1/1h', burst: 2 });
    const id = await inGroup();
    const me = await worker();
    const [first] = await me.claim();
    await me.settle(outcome(first!, 'failed', { delay_ms: 0 }));
    const [second] = await me.claim();
    await me.giveBack([second!], true);
    expect(await liveRow(queue.admin, id)).toMatchObject({ gate: 'w', status: 'blocked' });
    expect(await claimed(me)).toEqual([]);
    await pass('1 h');
    expect(await claimed(me)).toEqual([id]);
  });

  test('that is set, changed or removed has the new one with the next claim', async () => {
    const me = await worker();
    const ids = await enqueueSome(queue.admin, 5, { group: 'ann' });
    await setGroup({ rate: '1/366d' });
    expect(await claimed(me)).toEqual([ids[0]]);
    await setGroup({ burst: 2 });
    expect(await claimed(me)).toEqual([ids[1]]);
    // Nothing is used up that a rate cannot have used up.
    await setGroup({ rate: '1000/1ms', burst: 1 });
    await expect.poll(() => claimed(me)).toEqual([ids[2]]);
    await setGroup({ rate: '1/366d' });
    expect(await claimed(me)).toEqual([ids[3]]);
    expect(await claimed(me)).toEqual([]);
    await setGroup({ rate: null });
    expect(await claimed(me)).toEqual([ids[4]]);
    expect(await queue.admin.row('select rate, burst from taskq.groups')).toEqual({
      rate: null,
      burst: null,
    });
  });

  test('leaves no row once its tasks have run and nothing of the rate is used up', async () => {
    await setGroup({ rate: '1/1m', burst: 2 });
    await enqueueSome(queue.admin, 2, { group: 'ann' });
    const me = await worker();
    const tasks = await me.claim({ start: 2 });
    await me.settle(...tasks.map((task) => outcome(task, 'completed')));
    await me.claim();
    expect(await queue.admin.value('select count(*)::int from taskq.group_rates')).toBe(1);
    await pass('10 min');
    await me.claim();
    expect(await queue.admin.value('select count(*)::int from taskq.group_rates')).toBe(0);
    expect(await asks()).toEqual([]);
  });

  test('leaves none either if its rate was removed before it is looked at', async () => {
    await setGroup({ rate: '1/1m' });
    await inGroup();
    const me = await worker();
    await me.claim();
    await queue.admin.rows("select taskq.set_group('default', 'bob', '{\"rate\": \"1/1m\"}')");
    await enqueue(queue.admin, { group: 'bob' });
    await me.claim();
    await setGroup({ rate: null });
    await queue.admin.rows("update taskq.group_rates set used_to = used_to - interval '2 days'");
    await queue.admin.rows('select taskq.maintain()');
    expect(await queue.admin.rows('select key from taskq.group_rates')).toEqual([{ key: 'bob' }]);
  });

  test('that has no room stays full, even if its rate was used up further ahead than its burst', async () => {
    await setGroup({ limit: 1, rate: '1/1h' });
    const ids = await enqueueSome(queue.admin, 100, { group: 'ann' });
    const me = await worker();
    expect(await claimed(me)).toEqual([ids[0]]);
    // A slot takes 333,333.3 us.
    await setGroup({ rate: '3/1s', burst: 1 });
    expect(await claimed(me)).toEqual([]);
    expect(await me.claim({ start: 100 })).toEqual([]);
    expect(await queue.admin.value("select count(*)::int from taskq.tasks where gate = 'h'")).toBe(1);
  });

  test('loses nothing of what a later claim has used up to one that read the clock before it', async () => {
    await setGroup({ rate: '10/1s', burst: 10 });
    await enqueueSome(queue.admin, 30, { group: 'ann' });
    expect(await claimed(await worker())).toHaveLength(10);
    const usedTo = () => queue.admin.value<string>('select used_to::text from taskq.group_rates');
    const before = await usedTo();
    // It was held up before it had the mutex of the group.
    await queue.admin.rows(
      "insert into taskq.asks (due_at, queue, key) values (now() - interval '2 s', 'default', 'ann')",
    );
    await queue.admin.rows(
      `select taskq.attend('{default}', '{default}', '{work}', null, null, 10, clock_timestamp() - interval '0.9 s')`,
    );
    expect((await usedTo())! >= before!).toBe(true);
  });

  test('whose burst is tens of thousands of years of it is claimed and explained', async () => {
    await setGroup({ rate: '1/30d', burst: 100_000, limit: 1 });
    const ids = await enqueueSome(queue.admin, 3, { group: 'ann' });
    expect(await claimed(await worker())).toEqual([ids[0]]);
    const causes = await queue.admin.value<{ cause: string }[]>(
      "select taskq.explain($1) -> 'causes'",
      ids[2],
    );
    expect(causes!.map(({ cause }) => cause)).toContain('group_full');
  });

  test('a burst needs a rate', async () => {
    await expect(setGroup({ burst: 2 })).rejects.toMatchObject({
      code: '22023',
      message: 'set_group: burst 2 needs a rate',
    });
  });
});

describe('a queue with a rate for its groups', () => {
  test('lets each start as many, unless it has a rate of its own', async () => {
    await setQueue({ group_rate: '1/1h', group_burst: 2 });
    await setGroup({ rate: '1/1h' });
    const ann = await enqueueSome(queue.admin, 3, { group: 'ann' });
    const bob = await enqueueSome(queue.admin, 3, { group: 'bob' });
    const me = await worker();
    expect(await claimed(me)).toEqual([ann[0], ...bob.slice(0, 2)]);
    expect(await claimed(me)).toEqual([]);
    await setQueue({ group_rate: null, group_burst: null });
    await expect.poll(() => claimed(me)).toEqual([bob[2]]);
  });
});
