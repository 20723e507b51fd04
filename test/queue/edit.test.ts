import { describe, expect, onTestFinished, test } from 'vitest';
import type { StoredChanges } from '../../src/domain/edit-changes.ts';
import { edit } from '../../src/queue/operate/edit.ts';
import { listenTo } from './listening.ts';
import { enqueue, enqueueSome, liveRow, refuseChanges } from './rows.ts';
import type { Session } from './session.ts';
import { useGroups } from './use-groups.ts';
import { patiently, waitUntil, waitUntilBlocked } from './waiting.ts';
import { claimOne, outcome } from './worker.ts';

const { queue, inGroup, setQueue, worker, claimed, complete } = useGroups();

const HOUR_MS = 3_600_000;
const WAITS = { delay_ms: HOUR_MS };
const BOTH = { queues: ['default', 'other'] };

const EDITED = { answer: 'edited', key: null, holder: null, status: null, problem: null };

/** Changes one task, in the session of the test unless told, and returns its answer. */
async function change(id: string, changes: StoredChanges, session: Session = queue.admin) {
  return (await edit(session, [id], changes))[0]!;
}

const setOther = (settings: object) =>
  queue.admin.rows("select taskq.set_queue('other', $1)", JSON.stringify(settings));

/** What can be seen of where a task waits. */
const waitsOf = (id: string) =>
  queue.admin.row(
    `select queue, priority, gate, status::text,
       (extract(epoch from case when gate in ('w', 'd', 'p') then not_before else available_at end - clock_timestamp())
         / 3600)::integer as hours
     from taskq.tasks where id = $1`,
    id,
  );

describe('a task that is not in a group', () => {
  test('gets another payload, keeps its place, and nothing else of it changes', async () => {
    const [first, second] = await enqueueSome(queue.admin, 2, { max_attempts: 5, tags: { a: 'b' } });
    const before = await liveRow(queue.admin, first!);
    expect(await change(first!, { payload: '{"to": "ann"}' })).toEqual({ id: first, ...EDITED });
    expect(await liveRow(queue.admin, first!)).toEqual({
      ...before,
      payload: { to: 'ann' },
      payload_bytes: 13,
    });
    const tasks = await (await worker()).claim({ start: 2 });
    expect(tasks.map(({ id, payload }) => [id, payload])).toEqual([
      [first, { to: 'ann' }],
      [second, { n: 1 }],
    ]);
  });

  test('may have the payload null', async () => {
    const id = await enqueue(queue.admin);
    await change(id, { payload: 'null' });
    expect((await liveRow(queue.admin, id))!.payload).toBeNull();
  });

  test('waits for another time, by delay or instant, and is due at once where that has passed', async () => {
    const id = await enqueue(queue.admin);
    await change(id, { delay_ms: 2 * HOUR_MS });
    expect(await waitsOf(id)).toMatchObject({ hours: 2, status: 'pending' });
    await change(id, { at: '2999-01-31T09:00:00Z' });
    const asked = new Date('2999-01-31T09:00:00Z');
    expect(await liveRow(queue.admin, id)).toMatchObject({ available_at: asked, not_before: asked });
    const before: Date = await queue.admin.value('select clock_timestamp()');
    await change(id, { at: '2001-01-31T09:00:00Z' });
    const row = (await liveRow(queue.admin, id))!;
    expect((row.available_at as Date).getTime()).toBeGreaterThanOrEqual(before.getTime());
    expect(row.not_before).toEqual(row.available_at);
    expect(await claimed(await worker())).toEqual([id]);
  });

  test('keeps its place among those that are due, if it is asked to be due', async () => {
    const id = await enqueue(queue.admin);
    const { available_at } = (await liveRow(queue.admin, id))!;
    await change(id, { delay_ms: 0 });
    expect(await liveRow(queue.admin, id)).toMatchObject({ available_at });
  });

  test('goes to another priority, or queue, behind what is due there: no cursor has passed it', async () => {
    const me = await worker();
    const [first, second] = await enqueueSome(queue.admin, 2);
    const now = Number(
      await queue.admin.value('select (extract(epoch from clock_timestamp()) * 1000000)::bigint'),
    );
    await change(first!, { priority: 7 });
    await change(second!, { queue: 'other' });
    const cursor = Array.from({ length: 44 }, (_, n) => (n % 2 === 0 ? now : 0));
    expect(
      (await me.claim({ ...BOTH, cursor, start: 5 })).map(({ id, ...at }) => [id, at.queue, at.priority]),
    ).toEqual([
      [first, 'default', 7],
      [second, 'other', 2],
    ]);
  });

  test('waits for a retry until the new time, and has failed as often as before', async () => {
    const me = await worker();
    const id = await enqueue(queue.admin, { expires_ms: HOUR_MS });
    await me.settle(
      outcome(await claimOne(me), 'failed', { delay_ms: 9 * HOUR_MS, error: { message: 'm' } }),
    );
    const lasts = (await queue.admin.value('select expires_at - not_before from taskq.tasks')) as object;
    expect(await change(id, { delay_ms: 3 * HOUR_MS, queue: 'other', priority: 1 })).toMatchObject(EDITED);
    expect(await waitsOf(id)).toMatchObject({ hours: 3, queue: 'other', priority: 1 });
    // A rerun gives the copy as long as this one was given.
    expect(await queue.admin.value('select expires_at - not_before from taskq.tasks')).toEqual(lasts);
    await change(id, { delay_ms: 0 });
    expect(await me.claim(BOTH)).toMatchObject([{ id, attempts: 1 }]);
  });

  test('that would expire before its new time stays as it is', async () => {
    const id = await enqueue(queue.admin, { expires_ms: HOUR_MS });
    const before = await liveRow(queue.admin, id);
    expect(await change(id, { delay_ms: 2 * HOUR_MS, priority: 1 })).toMatchObject({
      answer: 'refused',
      problem: expect.stringMatching(/^it would expire before that, at \d{4}-\d\d-\d\dT[\d:]+Z$/),
    });
    expect(await liveRow(queue.admin, id)).toEqual(before);
    expect(await change(id, { delay_ms: HOUR_MS / 2 })).toMatchObject(EDITED);
  });

  test('wakes the workers of the queue where it is due, and those that it was locked for', async () => {
    const me = await worker();
    const [moved, due] = await enqueueSome(queue.admin, 2);
    await queue.admin.rows('select taskq.mark_idle($1, null, 60000)', me.id);
    const wakes = await listenTo(queue, 'taskq_wake');
    await edit(queue.admin, [moved!], { queue: 'other' });
    await wakes.untilReceived();
    expect(JSON.parse(wakes.received[0]!)).toMatchObject({ queue: 'other' });
    // No worker sleeps, but one may have passed it.
    await queue.admin.rows('delete from taskq.idle_marks');
    await edit(queue.admin, [due!], { payload: '1' });
    await waitUntil(async () => wakes.received.length > 1, 'no wake for the task that keeps its place');
    expect(JSON.parse(wakes.received[1]!)).toMatchObject({ queue: 'default' });
  });
});

test('only a task that waits is changed; every other one is answered with its status, and every id once', async () => {
  const me = await worker();
  const [running, leased, done, dead, blocked] = await enqueueSome(queue.admin, 5);
  await queue.admin.rows(
    "update taskq.tasks set status = 'blocked', available_at = 'infinity' where id = $1",
    blocked,
  );
  await queue.admin.rows("select taskq.add_dead($1, 'r')", dead);
  const tasks = await me.claim({ start: 2, ahead: 1 });
  await me.settle(outcome(tasks.find(({ id }) => id === done)!, 'completed'));
  await queue.admin.rows("update taskq.tasks set status = 'leased' where id = $1", leased);
  const rows = await queue.admin.rows('select * from taskq.tasks order by id');
  const asked = [running, leased, done, dead, blocked, '999999999', dead] as string[];
  const answers = await edit(queue.admin, asked, { payload: '1', delay_ms: 0, priority: 1, queue: 'other' });
  expect(answers.map(({ id, answer, status }) => [id, answer, status])).toEqual([
    [running, 'not_waiting', 'running'],
    [leased, 'not_waiting', 'leased'],
    [done, 'not_waiting', 'completed'],
    [dead, 'not_waiting', 'dead'],
    [blocked, 'not_waiting', 'blocked'],
    ['999999999', 'not_waiting', null],
  ]);
  expect(await queue.admin.rows('select * from taskq.tasks order by id')).toEqual(rows);
  expect(await queue.admin.rows("select from taskq.audit where verb = 'edit'")).toEqual([]);
});

describe('a task of a group', () => {
  test('that becomes more urgent takes the slot of one that no worker has claimed', async () => {
    await setQueue({ group_limit: 1 });
    const ids = [await inGroup('ann'), await inGroup('ann'), await inGroup('ann')];
    const me = await worker();
    await me.claim({ types: ['other'] });
    await change(ids[2]!, { priority: 1 });
    for (const id of [ids[2], ids[0], ids[1]]) {
      const tasks = await me.claim({ start: 10 });
      expect(tasks.map((task) => task.id)).toEqual([id]);
      await complete(me, tasks);
    }
  });

  test('that has the slot and becomes less urgent leaves it to the next one', async () => {
    await setQueue({ group_limit: 1 });
    const [first, second] = [await inGroup('ann'), await inGroup('ann')];
    const me = await worker();
    await me.claim({ types: ['other'] });
    await change(first, { priority: 5 });
    expect(await claimed(me)).toEqual([second]);
  });

  test('that has the slot and is put off leaves it to the next one, and comes in its time', async () => {
    await setQueue({ group_limit: 1 });
    const [first, second] = [await inGroup('ann'), await inGroup('ann')];
    const me = await worker();
    await me.claim({ types: ['other'] });
    await change(first, WAITS);
    expect(await waitsOf(first)).toMatchObject({ gate: 'd', status: 'blocked', hours: 1 });
    const tasks = await me.claim({ start: 10 });
    expect(tasks.map(({ id }) => id)).toEqual([second]);
    await complete(me, tasks);
    expect(await claimed(me)).toEqual([]);
    expect(await queue.admin.value('select taskq.age_task($1)', first)).toBe(true);
    expect(await claimed(me)).toEqual([first]);
  });

  test('that waits for a slot is put off, and one that was put off is due', async () => {
    await setQueue({ group_limit: 1 });
    const [first, second] = [await inGroup('ann'), await inGroup('ann', WAITS)];
    await change(first, WAITS);
    await change(second, { delay_ms: 0 });
    expect(await claimed(await worker())).toEqual([second]);
    expect(await waitsOf(first)).toMatchObject({ gate: 'd', hours: 1 });
    expect(await queue.admin.rows('select task_id from taskq.asks where task_id is not null')).toEqual([
      { task_id: first },
    ]);
  });

  test('keeps its slot for a retry under strict order, until the new time', async () => {
    await setQueue({ group_limit: 1 });
    const [first] = [await inGroup('ann'), await inGroup('ann')];
    const me = await worker();
    const [task] = await me.claim({ start: 10 });
    await me.settle(outcome(task!, 'failed', { delay_ms: HOUR_MS }));
    await change(first, { delay_ms: 3 * HOUR_MS });
    expect(await waitsOf(first)).toMatchObject({ gate: 'h', status: 'pending', hours: 3 });
    expect(await claimed(me)).toEqual([]);
    await change(first, { delay_ms: 0 });
    expect(await claimed(me)).toEqual([first]);
  });

  test('stops its group until the new time', async () => {
    await setQueue({ group_limit: 2 });
    const [first, second] = [await inGroup('ann'), await inGroup('ann')];
    const me = await worker();
    const tasks = await me.claim({ start: 1 });
    await me.settle(outcome(tasks[0]!, 'snoozed', { delay_ms: HOUR_MS, hold: 'group' }));
    await change(first, { delay_ms: 2 * HOUR_MS });
    expect(await claimed(me)).toEqual([]);
    expect(await waitsOf(first)).toMatchObject({ gate: 's', hours: 2 });
    const asks =
      "select count(*)::integer from taskq.asks where due_at > clock_timestamp() + interval '90 min'";
    expect(await queue.admin.value(asks)).toBe(1);
    await change(first, { delay_ms: 0 });
    expect(await claimed(me)).toEqual([first, second]);
  });
});

describe('a task that moves to another queue', () => {
  test('gives its slot up, and waits for one of the group there', async () => {
    await setQueue({ group_limit: 1 });
    await setOther({ group_limit: 1 });
    const there = await inGroup('ann', { queue: 'other' });
    const [first, second] = [await inGroup('ann'), await inGroup('ann')];
    const me = await worker();
    // Each group has one slot, and the task of nobody has it.
    await me.claim({ ...BOTH, types: ['else'], start: 10 });
    expect(await waitsOf(first)).toMatchObject({ gate: 'h' });
    await change(first, { queue: 'other' });
    expect(await waitsOf(first)).toMatchObject({ gate: 'w', queue: 'other', status: 'blocked' });
    const tasks = await me.claim({ ...BOTH, start: 10 });
    expect(tasks.map(({ id }) => id)).toEqual([there, second]);
    expect(await me.claim({ ...BOTH, start: 10 })).toEqual([]);
    await complete(me, tasks);
    expect(await me.claim({ ...BOTH, start: 10 })).toMatchObject([{ id: first, queue: 'other' }]);
  });

  test('while its group there is full waits, and its old group goes on', async () => {
    await setQueue({ group_limit: 1 });
    await setOther({ group_limit: 1 });
    const me = await worker();
    const [first, second] = [await inGroup('ann'), await inGroup('ann')];
    const task = await claimOne(me);
    await me.settle(outcome(task, 'failed', { delay_ms: HOUR_MS }));
    expect(await claimed(me)).toEqual([]);
    await change(first, { queue: 'other' });
    expect(await waitsOf(first)).toMatchObject({ gate: 'd', queue: 'other', hours: 1 });
    expect(await claimed(me)).toEqual([second]);
  });

  test('no longer stops the group that it left', async () => {
    await setQueue({ group_limit: 1 });
    const [first, second] = [await inGroup('ann'), await inGroup('ann')];
    const me = await worker();
    await me.settle(outcome(await claimOne(me), 'snoozed', { delay_ms: HOUR_MS, hold: 'group' }));
    await change(first, { queue: 'other' });
    expect(await claimed(me)).toEqual([second]);
    expect(await waitsOf(first)).toMatchObject({ gate: 'd', hours: 1 });
  });

  test('is found there when its time has come', async () => {
    await setOther({ group_limit: 1 });
    const id = await inGroup('ann', WAITS);
    await change(id, { queue: 'other' });
    expect(await queue.admin.rows('select queue, task_id from taskq.asks where task_id is not null')).toEqual(
      [{ queue: 'other', task_id: id }],
    );
    await queue.admin.value('select taskq.age_task($1)', id);
    expect(await (await worker()).claim({ queues: ['other'] })).toMatchObject([{ id }]);
  });

  test('is in the group of its type, where the queue has such groups', async () => {
    await setOther({ group_by: 'type', group_limit: 1 });
    const ids = [await enqueue(queue.admin), await enqueue(queue.admin), await enqueue(queue.admin, WAITS)];
    await edit(queue.admin, ids, { queue: 'other' });
    expect(await waitsOf(ids[2]!)).toMatchObject({ gate: 'd', hours: 1 });
    expect(await (await worker()).claim({ ...BOTH, start: 10 })).toMatchObject([{ id: ids[0] }]);
  });

  test('starts there within the limit of the queue, which counts what workers have', async () => {
    await setOther({ max_running: 1 });
    const ids = await enqueueSome(queue.admin, 3);
    await edit(queue.admin, ids, { queue: 'other' });
    const me = await worker();
    const tasks = await me.claim({ ...BOTH, start: 10 });
    expect(tasks).toMatchObject([{ id: ids[0] }]);
    await complete(me, tasks);
    expect(await me.claim({ ...BOTH, start: 10 })).toMatchObject([{ id: ids[1] }]);
  });

  test('takes its key along, which is free then in the queue that it left', async () => {
    const id = await enqueue(queue.admin, { key: 'k' });
    await change(id, { queue: 'other' });
    expect(await enqueue(queue.admin, { key: 'k', queue: 'other' })).toBe(id);
    expect(await enqueue(queue.admin, { key: 'k' })).not.toBe(id);
  });

  test('stays where the key is held there: by a task, for a period, or by the first one that moves', async () => {
    const holder = await enqueue(queue.admin, { key: 'a', queue: 'other' });
    const ended = await enqueue(queue.admin, { key: 'b', queue: 'other', key_for: 'ever' });
    await queue.admin.rows('select taskq.cancel($1)', [ended]);
    const keyed = [await enqueue(queue.admin, { key: 'a' }), await enqueue(queue.admin, { key: 'b' })];
    const twins = [
      await enqueue(queue.admin, { key: 'c' }),
      await enqueue(queue.admin, { key: 'c', queue: 'third' }),
    ];
    const answers = await edit(queue.admin, [...keyed, ...twins], { queue: 'other', payload: '7' });
    expect(answers).toMatchObject([
      { id: keyed[0], answer: 'key_held', key: 'a', holder },
      { id: keyed[1], answer: 'key_held', key: 'b', holder: ended },
      { id: twins[0], ...EDITED },
      { id: twins[1], answer: 'key_held', key: 'c', holder: twins[0] },
    ]);
    expect(await liveRow(queue.admin, keyed[0]!)).toMatchObject({ queue: 'default', payload: {} });
  });

  test('takes a key along that it holds for a period, also where the period of another one is over', async () => {
    const old = await enqueue(queue.admin, { key: 'k', queue: 'other', key_for: 'ever' });
    await queue.admin.rows('select taskq.cancel($1)', [old]);
    await queue.admin.rows("update taskq.held_keys set until = clock_timestamp() - interval '1 s'");
    const id = await enqueue(queue.admin, { key: 'k', key_for: 'ever' });
    expect(await change(id, { queue: 'other' })).toMatchObject(EDITED);
    expect(await queue.admin.rows('select queue, key, task_id from taskq.held_keys')).toEqual([
      { queue: 'other', key: 'k', task_id: id },
    ]);
  });

  test('does not wait for a producer that is taking the key there, and none is refused because of it', async () => {
    const id = await enqueue(queue.admin, { key: 'k' });
    const other = await enqueue(queue.admin);
    const producer = await queue.session();
    await producer.rows('begin');
    const holder = await enqueue(producer, { key: 'k', queue: 'other' });
    expect(await edit(queue.admin, [id, other], { queue: 'other' })).toMatchObject([
      { id, answer: 'busy' },
      { id: other, ...EDITED },
    ]);
    await producer.rows('commit');
    expect(await change(id, { queue: 'other' })).toMatchObject({ answer: 'key_held', holder });
  });

  test('fails no producer that has the key there and waits for the task', async () => {
    const id = await enqueue(queue.admin, { key: 'k', queue: 'other' });
    // Its server looks for deadlocks sooner than locks end by themselves.
    const producer = await queue.directSession();
    await producer.rows("set deadlock_timeout = '300ms'");
    await producer.rows('begin');
    await enqueue(producer, { key: 'k' });
    const operator = await queue.directSession();
    const pid = await operator.value('select pg_backend_pid()');
    let isAnswered = false;
    const moved = change(id, { queue: 'default' }, operator).finally(() => {
      isAnswered = true;
    });
    const waits = "select wait_event_type = 'Lock' from pg_stat_activity where pid = $1";
    await waitUntil(
      async () => isAnswered || (await queue.admin.value<boolean | null>(waits, pid)) === true,
      'the move neither waits nor is answered',
    );
    expect(await enqueue(producer, { key: 'k', queue: 'other', on_held: 'replace' })).toBe(id);
    await producer.rows('commit');
    expect(['busy', 'key_held']).toContain((await moved).answer);
  });

  test('stays where its schedule finds it, which lets no other run beside it', async () => {
    await queue.admin.rows(
      `select taskq.set_schedule('nightly', '0 3 * * *', 'work', '{}', '{"tz": "UTC", "overlap": "skip"}')`,
    );
    await queue.admin.rows("select taskq.run_schedule('nightly')");
    const id: string = await queue.admin.value('select id from taskq.tasks');
    expect(await change(id, { queue: 'other' })).toMatchObject({
      answer: 'refused',
      problem: 'schedule nightly finds it by its key in queue default; change the queue of the schedule',
    });
    expect(await change(id, { priority: 1 })).toMatchObject(EDITED);
  });

  test('counts as created where it was enqueued, and as ended where it ends', async () => {
    const id = await enqueue(queue.admin);
    await change(id, { queue: 'other' });
    const me = await worker();
    await complete(me, await me.claim(BOTH));
    const counts =
      'select sum(tasks)::integer as tasks, event, queue from taskq.counts group by 2, 3 order by 2';
    expect(await queue.admin.rows(counts)).toEqual([
      { tasks: 1, event: 'created', queue: 'default' },
      { tasks: 1, event: 'succeeded', queue: 'other' },
    ]);
  });
});

test('a step that waits for its parents is changed in all, and starts after them, where it is then', async () => {
  await setOther({ group_limit: 1 });
  const steps = [
    { step: 'a', type: 'work' },
    { step: 'b', type: 'work', after: ['a'], group: 'ann' },
  ];
  await queue.admin.rows('select taskq.run_workflow($1)', { name: 'flow', steps });
  const id: string = await queue.admin.value("select id from taskq.tasks where step = 'b'");
  expect(await change(id, { queue: 'other', priority: 1, delay_ms: 1, payload: '{"n": 5}' })).toMatchObject(
    EDITED,
  );
  expect(await waitsOf(id)).toMatchObject({ gate: 'p', status: 'blocked', queue: 'other', priority: 1 });
  const shown = await queue.admin.value(
    "select jsonb_path_query_array(taskq.show_workflow(id), '$.steps[*].queue') from taskq.workflows",
  );
  expect(shown).toEqual(['default', 'other']);
  const me = await worker();
  await complete(me, await me.claim(BOTH));
  await me.claim({ start: 0 });
  expect(await me.claim(BOTH)).toMatchObject([{ id, queue: 'other', priority: 1, payload: { n: 5 } }]);
});

describe('one task that is in the way does not stop the others', () => {
  test('if others keep it locked: it is busy, after a second for all of them', async () => {
    const ids = await enqueueSome(queue.admin, 42);
    const locked = ids.slice(1, -1);
    const holder = await queue.session();
    await holder.rows('begin');
    await holder.rows('select from taskq.tasks where id = any ($1) for update', locked);
    const operator = await queue.session();
    await operator.rows("set statement_timeout = '30s'");
    const answers = await edit(operator, ids, { priority: 1 });
    expect(answers.map(({ answer }) => answer)).toEqual(['edited', ...locked.map(() => 'busy'), 'edited']);
    expect(await liveRow(queue.admin, locked[0]!)).toMatchObject({ priority: 2 });
  });

  test('and one that is locked for a moment is waited for', async () => {
    const id = await enqueue(queue.admin);
    const holder = await queue.session();
    await holder.rows('begin');
    await holder.rows('update taskq.tasks set priority = 4 where id = $1', id);
    const changed = change(id, { payload: '1' }, await queue.session());
    await holder.rows('commit');
    expect(await changed).toMatchObject(EDITED);
    expect(await liveRow(queue.admin, id)).toMatchObject({ priority: 4, payload: 1 });
  });

  test.each([
    ['at once', 'create trigger'],
    ['at the commit', 'create constraint trigger'],
  ] as const)('if a trigger of the application refuses it %s', async (_, create) => {
    const ids = await enqueueSome(queue.admin, 3);
    await refuseChanges(queue.admin, create, `new.id = ${ids[1]}`);
    const answers = await edit(queue.admin, ids, { priority: 1 });
    expect(answers).toMatchObject([
      { id: ids[0], ...EDITED },
      { id: ids[1], answer: 'refused', problem: expect.stringMatching(/./) },
      { id: ids[2], ...EDITED },
    ]);
  });

  test('if its payload, put in by hand, is too large to be written', async () => {
    const ids = await enqueueSome(queue.admin, 2);
    await queue.admin.rows(
      `update taskq.tasks set payload = to_jsonb(repeat('x', 1100000)), payload_bytes = 1 where id = $1`,
      ids[0],
    );
    await queue.admin.rows('update taskq.tasks set payload_bytes = null where id = $1', ids[1]);
    expect(await edit(queue.admin, ids, { payload: '1' })).toMatchObject([EDITED, EDITED]);
  });
});

test('an edit and a claim of one task: the claim has it as it was, or leaves it, never both', async () => {
  const [worker1, operator] = [await worker(), await queue.session()];
  const id = await enqueue(queue.admin);
  // The claim has it: it stays as it is.
  await worker1.session.rows('begin');
  expect(await worker1.claim()).toMatchObject([{ id, payload: {} }]);
  const late = change(id, { payload: '1' }, operator);
  await worker1.session.rows('commit');
  expect(await late).toMatchObject({ answer: 'not_waiting', status: 'running' });
  // The edit has it: the claim leaves it, and the next one has what is new.
  const next = await enqueue(queue.admin);
  await operator.rows('begin');
  expect(await change(next, { payload: '2' }, operator)).toMatchObject(EDITED);
  expect(await worker1.claim()).toEqual([]);
  await operator.rows('commit');
  expect(await worker1.claim()).toMatchObject([{ id: next, payload: 2 }]);
});

test('it is recorded with what was before, by task, and only what changed', async () => {
  const [one, two] = [
    await enqueue(queue.admin, { priority: 3 }, { n: 1 }),
    await enqueue(queue.admin, {}, { n: 2 }),
  ];
  await edit(
    queue.admin,
    [one, two],
    { priority: 0, payload: '{"n": 9}' },
    { by: 'ann', filter: { type: 'work' } },
  );
  const row = await queue.admin.row(
    'select verb, by, task_ids, filter, before, settings from taskq.audit order by id desc limit 1',
  );
  expect(row).toEqual({
    ...{ verb: 'edit', by: 'ann', task_ids: [one, two], filter: { type: 'work' } },
    before: { [one]: { payload: { n: 1 }, priority: 3 }, [two]: { payload: { n: 2 }, priority: 2 } },
    settings: { payload: { n: 9 }, priority: 0 },
  });
  await change(one, { delay_ms: HOUR_MS, queue: 'other' });
  const { settings, before } = (await queue.admin.row<{ settings: object; before: Record<string, object> }>(
    'select settings, before from taskq.audit order by id desc limit 1',
  ))!;
  expect(Object.keys(settings).sort()).toEqual(['at', 'queue']);
  expect(before[one]).toMatchObject({ queue: 'default', at: expect.any(String) });
  // In the transaction of the change.
  await queue.admin.rows('begin');
  await change(one, { priority: 9 });
  await queue.admin.rows('rollback');
  expect(await queue.admin.value("select count(*)::integer from taskq.audit where verb = 'edit'")).toBe(2);
});

test.each([
  [{}, 'edit: expected a change: payload, priority, queue, delay_ms or at'],
  [{ priority: null }, 'edit: expected a change: payload, priority, queue, delay_ms or at'],
  [{ delay_ms: 1, at: '2030-01-01T00:00:00Z' }, 'edit: give either delay_ms or at, not both'],
  [{ priority: 10 }, 'priority 10: expected'],
  [{ queue: '' }, 'queue "": expected'],
  [{ delay_ms: -1 }, 'delay_ms -1: expected'],
  [{ group: 'g' }, 'unknown option "group"'],
  [{ payload: 'x'.repeat(1_048_576) }, 'the payload is larger than 1 MB'],
])('changes that make no sense are refused, and change nothing: %.40j', async (changes, message) => {
  const id = await enqueue(queue.admin);
  const before = await liveRow(queue.admin, id);
  const asked = queue.admin.rows('select * from taskq.edit($1, $2)', [id], JSON.stringify(changes));
  await expect(asked).rejects.toMatchObject({ code: '22023', message: expect.stringContaining(message) });
  expect(await liveRow(queue.admin, id)).toEqual(before);
});

describe('beside a claim that has looked at it, a task that moves', () => {
  test('gets no slot of the other queue from a claim of the first', async () => {
    await setQueue({ group_limit: 1, group_order: 'strict' });
    await setOther({ group_limit: 1, group_order: 'strict' });
    const me = await worker();
    await inGroup('ann', { queue: 'other' });
    expect(await me.claim({ queues: ['other'] })).toHaveLength(1);
    const id = await inGroup('ann');
    const claiming = await worker();
    const pid = await claiming.session.value<number>('select pg_backend_pid()');
    await pauseAt('may_start', claiming.session);
    const claim = claiming.claim({ queues: ['default'] });
    await waitUntil(
      () =>
        queue.admin.value(
          "select wait_event is not distinct from 'PgSleep' from pg_stat_activity where pid = $1",
          pid,
        ),
      'the claim does not wait',
    );
    expect(await change(id, { queue: 'other' })).toMatchObject({ answer: 'edited' });
    expect(await me.claim({ queues: ['other'] })).toEqual([]);
    await queue.admin.rows('select pg_advisory_unlock(77)');
    expect(await claim).toEqual([]);
    expect(await me.claim({ queues: ['other'] })).toEqual([]);
  });

  test('is not claimed from the first by an optimistic claim that has waited for it', async () => {
    const id = await enqueue(queue.admin);
    const [person, me] = [await queue.session(), await worker()];
    await person.rows('begin');
    await change(id, { queue: 'other' }, person);
    await patiently(queue.admin, ['choose_optimistically'], async () => {
      const claim = me.claim({ form: 'optimistic', queues: ['default'] });
      await waitUntilBlocked(queue.admin);
      await person.rows('commit');
      expect(await claim).toEqual([]);
    });
    expect(await waitsOf(id)).toMatchObject({ queue: 'other', status: 'pending' });
  });
});

/** Has this session wait in a function of the queue while the test holds the advisory lock 77, which it takes. */
async function pauseAt(name: 'may_start', session: Session): Promise<void> {
  const original = await queue.admin.value<string>(
    'select pg_get_functiondef(oid) from pg_proc where proname = $1',
    name,
  );
  onTestFinished(async () => {
    await queue.admin.rows('select pg_advisory_unlock_all()');
    await queue.admin.rows(original);
  });
  await queue.admin.rows(`
    create or replace function taskq.may_start(_expires_at timestamptz, _started_at timestamptz, _ts timestamptz)
    returns boolean language plpgsql volatile as $$
    begin
      while current_setting('test.paused', true) = 'on' and not pg_try_advisory_xact_lock_shared(77) loop
        perform pg_sleep(0.005);
      end loop;
      return _expires_at is null or _expires_at > _ts or _started_at is not null;
    end
    $$`);
  await queue.admin.rows('select pg_advisory_lock(77)');
  await session.rows("set test.paused = 'on'");
}
