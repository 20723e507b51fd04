import { describe, expect, test } from 'vitest';
import { claimerOf } from './claimer.ts';
import { listenTo } from './listening.ts';
import { deadRow, enqueue, enqueueSome, liveRow, refuseChanges } from './rows.ts';
import { useGroups } from './use-groups.ts';
import { type Claimed, outcome, type PlainWorker } from './worker.ts';

const { queue, inGroup, setQueue, worker, claimed, complete } = useGroups();

/** As if this much time had passed for a task of a group that waits for its time. */
async function age(id: string): Promise<void> {
  expect(await queue.admin.value('select taskq.age_task($1)', id)).toBe(true);
}

test('a group has its turn although another session has its ask locked: claims do not come back to it', async () => {
  const bob = await inGroup('bob');
  const other = await queue.session();
  await other.rows('begin');
  await other.rows('select from taskq.asks for update');
  expect(await claimed(await worker())).toEqual([bob]);
  await other.rows('commit');
  // The ask that stayed brings a turn without a task.
  expect(await claimed(await worker())).toEqual([]);
});

test('housekeeping locks no ask that it leaves as it is', async () => {
  await inGroup('ann');
  await inGroup('bob');
  const housekeeper = await queue.session();
  await housekeeper.rows('begin');
  await housekeeper.rows('select taskq.revisit_asks(1000, clock_timestamp())');
  const free = await queue.admin.rows('select key from taskq.asks order by key for update skip locked');
  expect(free).toEqual([{ key: 'ann' }, { key: 'bob' }]);
  await housekeeper.rows('commit');
});

describe('a limit', () => {
  test('of 1 starts the tasks of a group one after the other, and those of other groups beside them', async () => {
    await setQueue({ group_limit: 1 });
    const ann = [await inGroup('ann'), await inGroup('ann'), await inGroup('ann')];
    const bob = await inGroup('bob');
    const me = await worker();
    const first = await me.claim({ start: 10 });
    expect(first.map(({ id }) => id)).toEqual([ann[0], bob]);
    expect(await claimed(me)).toEqual([]);
    await complete(me, first);
    const second = await me.claim({ start: 10 });
    expect(second.map(({ id }) => id)).toEqual([ann[1]]);
    await complete(me, second);
    expect(await claimed(me)).toEqual([ann[2]]);
  });

  test('of 2 runs two at a time', async () => {
    await setQueue({ group_limit: 2 });
    const ids = [await inGroup('ann'), await inGroup('ann'), await inGroup('ann')];
    const me = await worker();
    const first = await me.claim({ start: 10 });
    expect(first.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    await complete(me, first.slice(0, 1));
    expect(await claimed(me)).toEqual([ids[2]]);
  });

  test('is kept whatever the planner knows of the gates', async () => {
    await setQueue({ group_limit: 1 });
    const ids = [await inGroup('ann'), await inGroup('ann'), await inGroup('ann'), await inGroup('ann')];
    await inGroup('ann', { delay_ms: 3_600_000 });
    const me = await worker();
    const first = await me.claim({ start: 10 });
    // Some gates once, others often: these are listed by their frequency, and the rest in a histogram.
    await queue.admin.rows('analyze taskq.tasks');
    await me.session.rows('discard plans');
    await complete(me, first);
    expect(await claimed(me)).toEqual([ids[1]]);
    expect(await queue.admin.value('select taskq.explain($1)', ids[2])).toMatchObject({
      causes: [{ cause: 'group_full', holders: [ids[1]] }],
    });
    expect(await queue.admin.value("select taskq.show_group('default', 'ann') is not null")).toBe(true);
  });

  test('is not needed: a group without one starts whatever there is', async () => {
    const ids = [await inGroup('ann'), await inGroup('ann'), await inGroup('ann')];
    expect(await claimed(await worker())).toEqual(ids);
  });

  test('holds for two claims at once, the second of which gets nothing', async () => {
    await setQueue({ group_limit: 1 });
    await inGroup('ann');
    await inGroup('ann');
    const [first, second] = [await worker(), await worker()];
    await first.session.rows('begin');
    expect(await claimed(first)).toHaveLength(1);
    expect(await claimed(second)).toEqual([]);
    await first.session.rows('commit');
    expect(await claimed(second)).toEqual([]);
  });

  test('that is raised while tasks run lets more start, and one that is lowered takes back what has not', async () => {
    await setQueue({ group_limit: 1 });
    const ids = [await inGroup('ann'), await inGroup('ann'), await inGroup('ann'), await inGroup('ann')];
    const me = await worker();
    expect(await claimed(me)).toEqual([ids[0]]);
    await setQueue({ group_limit: 3 });
    expect((await me.claim({ start: 1 })).map(({ id }) => id)).toEqual([ids[1]]);
    await setQueue({ group_limit: 2 });
    expect(await claimed(me)).toEqual([]);
    await setQueue({ group_limit: null });
    expect(await claimed(me)).toEqual(ids.slice(2));
  });

  test('that is lowered holds at once, even while another session attends to all groups of the queue', async () => {
    await setQueue({ group_limit: 2 });
    const ids = [await inGroup('ann'), await inGroup('ann')];
    const me = await worker();
    // The second one attends to what the new limit makes the group ask for.
    for (let n = 0; n < 2; n++) await me.claim({ types: ['other'] });
    const other = await queue.session();
    await other.rows('begin');
    await other.rows('select from taskq.group_mutexes for update');
    await setQueue({ group_limit: 1 });
    expect(await claimed(me)).toEqual(ids.slice(0, 1));
    await other.rows('commit');
  });
});

describe('the order of a group', () => {
  test('is by priority and then by age, even if a slot had been given to a less urgent task', async () => {
    await setQueue({ group_limit: 1 });
    const [late, later] = [await inGroup('ann', { priority: 5 }), await inGroup('ann', { priority: 5 })];
    const me = await worker();
    // The claim gives out the slot, and has no handler for the task.
    await me.claim({ types: ['other'] });
    const urgent = await inGroup('ann', { priority: 1 });
    for (const id of [urgent, late, later]) {
      const tasks = await me.claim({ start: 10 });
      expect(tasks.map((task) => task.id)).toEqual([id]);
      await complete(me, tasks);
    }
  });

  test('is by priority where some slots are free and a less urgent task has another one', async () => {
    await setQueue({ group_limit: 2 });
    const late = await inGroup('ann', { priority: 5 });
    const me = await worker();
    await me.claim({ types: ['other'] });
    const urgent = [await inGroup('ann', { priority: 1 }), await inGroup('ann', { priority: 1 })];
    const tasks = await me.claim({ start: 10 });
    expect(tasks.map(({ id }) => id)).toEqual(urgent);
    await complete(me, tasks);
    expect(await claimed(me)).toEqual([late]);
  });

  test('is kept where the first task is due last, beside a group that gets nothing', async () => {
    await setQueue({ group_limit: 2 });
    const [first, second] = [await inGroup('ann', { delay_ms: 60_000 }), await inGroup('ann')];
    await age(first);
    await inGroup('bob');
    await queue.admin.rows("select taskq.pause_group('default', 'bob')");
    const tasks = await (await worker()).claim({ start: 1, ahead: 1 });
    expect(tasks.map(({ id, running }) => [id, running])).toEqual([
      [first, true],
      [second, false],
    ]);
  });

  test('is by priority where one of two slots of less urgent tasks could not be taken back', async () => {
    await setQueue({ group_limit: 2 });
    const [locked, late] = [await inGroup('ann', { priority: 5 }), await inGroup('ann', { priority: 5 })];
    const me = await worker();
    await me.claim({ types: ['other'] });
    const urgent = [await inGroup('ann', { priority: 1 }), await inGroup('ann', { priority: 1 })];
    const editor = await queue.session();
    await editor.rows('begin');
    await editor.rows('select from taskq.tasks where id = $1 for update', locked);
    const first = await me.claim({ start: 10 });
    expect(first.map(({ id }) => id)).toEqual(urgent.slice(0, 1));
    await editor.rows('commit');
    const second = await me.claim({ start: 10 });
    expect(second.map(({ id }) => id)).toEqual(urgent.slice(1));
    await complete(me, [...first, ...second]);
    expect(await claimed(me)).toEqual([locked, late]);
  });

  test('holds for slots that were given out before, also while another session attends to the group', async () => {
    await setQueue({ group_limit: 2 });
    const late = await inGroup('ann', { priority: 5 });
    const me = await worker();
    await me.claim({ types: ['other'] });
    const other = await queue.session();
    await other.rows('begin');
    await other.rows('select from taskq.group_mutexes for update');
    const urgent = await inGroup('ann', { priority: 1 });
    expect(await claimed(me)).toEqual([]);
    await other.rows('commit');
    await expect.poll(() => claimed(me)).toEqual([late, urgent]);
  });

  test('is kept through a retry if it is strict, and a later task starts meanwhile if it is relaxed', async () => {
    await setQueue({ group_limit: 1 });
    const [first, second] = [await inGroup('ann'), await inGroup('ann')];
    const me = await worker();
    const failed = (tasks: Claimed[]) =>
      me.settle(...tasks.map((task) => outcome(task, 'failed', { delay_ms: 60_000 })));
    await failed(await me.claim());
    expect(await claimed(me)).toEqual([]);
    await queue.admin.rows('select taskq.retry($1)', [first]);
    await setQueue({ group_order: 'relaxed' });
    await failed(await me.claim());
    const others = await me.claim({ start: 10 });
    expect(others.map(({ id }) => id)).toEqual([second]);
    await age(first!);
    expect(await claimed(me)).toEqual([]);
    await complete(me, others);
    expect(await claimed(me)).toEqual([first]);
  });

  test('lets later tasks start before one that waits for its retry, as soon as it becomes relaxed', async () => {
    await setQueue({ group_limit: 1 });
    const [first, second] = [await inGroup('ann'), await inGroup('ann')];
    const me = await worker();
    await me.settle(outcome((await me.claim())[0]!, 'failed', { delay_ms: 60_000 }));
    expect(await claimed(me)).toEqual([]);
    await setQueue({ group_order: 'relaxed' });
    // The first claim only finds out which groups have tasks.
    await claimed(me);
    const others = await me.claim({ start: 10 });
    expect(others.map(({ id }) => id)).toEqual([second]);
    await age(first);
    await complete(me, others);
    expect(await claimed(me)).toEqual([first]);
  });

  test('waits for nobody: a task that is locked keeps its place for a second, and then is looked for again', async () => {
    await setQueue({ group_limit: 1 });
    const id = await inGroup('ann');
    const editor = await queue.session();
    await editor.rows('begin');
    await editor.rows("update taskq.tasks set tags = '{}' where id = $1", id);
    const me = await worker();
    expect(await claimed(me)).toEqual([]);
    await editor.rows('commit');
    await expect.poll(() => claimed(me)).toEqual([id]);
  });
});

describe('a task with a delay', () => {
  test('takes no slot until its time, and then stands where its priority and age put it', async () => {
    await setQueue({ group_limit: 1 });
    const first = await inGroup('ann', { delay_ms: 60_000 });
    const second = await inGroup('ann');
    const me = await worker();
    const running = await me.claim({ start: 10 });
    expect(running.map(({ id }) => id)).toEqual([second]);
    const third = await inGroup('ann');
    await age(first);
    await complete(me, running);
    const next = await me.claim({ start: 10 });
    expect(next.map(({ id }) => id)).toEqual([first]);
    await complete(me, next);
    expect(await claimed(me)).toEqual([third]);
  });

  test('starts in its order beside thousands whose time is the same', async () => {
    await setQueue({ group_limit: 1 });
    const tasks = Array.from({ length: 2500 }, (_, n) => ({ type: 'work', priority: n < 2499 ? 5 : 1 }));
    await queue.admin.rows(
      'select from taskq.enqueue_many($1, \'{"group": "ann", "delay_ms": 60000}\')',
      JSON.stringify(tasks),
    );
    const last = await queue.admin.value<string>('select max(id) from taskq.tasks');
    await queue.admin.rows("update taskq.asks set due_at = due_at - interval '1 hour'");
    await queue.admin.rows("update taskq.tasks set not_before = not_before - interval '1 hour'");
    const me = await worker();
    let first: string | undefined;
    for (let n = 0; n < 10 && first === undefined; n++) [first] = await claimed(me);
    expect(first).toBe(last);
  });

  test('starts at once when an operator says so', async () => {
    const id = await inGroup('ann', { delay_ms: 60_000 });
    const me = await worker();
    expect(await claimed(me)).toEqual([]);
    expect(await queue.admin.rows('select id, answer from taskq.retry($1)', [id])).toEqual([
      { id, answer: 'retried' },
    ]);
    expect(await claimed(me)).toEqual([id]);
  });

  test('stays due when an operator has said so, also if it loses its slot to another queue', async () => {
    await setQueue({ group_limit: 1, group_order: 'strict' });
    const [id] = [await inGroup('ann'), await inGroup('ann')];
    const me = await worker();
    await me.settle(outcome((await me.claim())[0]!, 'failed', { delay_ms: 0 }));
    const answers = async (sql: string) =>
      (await queue.admin.rows<{ answer: string }>(`select answer from taskq.${sql}`, [id]))[0]!.answer;
    expect(await answers(`edit($1, '{"delay_ms": 60000}')`)).toBe('edited');
    expect(await answers('retry($1)')).toBe('retried');
    expect(await answers(`edit($1, '{"queue": "other"}')`)).toBe('edited');
    expect((await me.claim({ start: 10, queues: ['other'] })).map((task) => task.id)).toEqual([id]);
  });

  test('tells an idle worker when to look again', async () => {
    await inGroup('ann', { delay_ms: 60_000 });
    const me = await worker();
    const due = await queue.admin.value<number>(
      "select due_ms from taskq.mark_idle($1, '{default}', 1000, '{work}')",
      me.id,
    );
    expect(due).toBeGreaterThan(50_000);
    expect(due).toBeLessThanOrEqual(60_000);
  });

  test.each(["queue = 'mail'", "group_key = 'bob'", "queue = 'mail', group_key = 'bob'"])(
    'waits in its turn too where it was moved by hand: %s',
    async (edit) => {
      const id = await inGroup('ann', { delay_ms: 60_000 });
      await queue.admin.rows(`update taskq.tasks set ${edit}`);
      await age(id);
      const me = await worker();
      const taken = [];
      for (let n = 0; n < 2; n++)
        taken.push(...(await me.claim({ start: 10, queues: ['default', 'mail'] })).map((task) => task.id));
      expect(taken).toEqual([id]);
    },
  );
});

describe('a dead letter', () => {
  async function dieFirst(): Promise<[PlainWorker, string, string]> {
    await setQueue({ group_limit: 1, group_on_dead: 'hold' });
    const [first, second] = [await inGroup('ann'), await inGroup('ann')];
    const me = await worker();
    await me.settle(outcome((await me.claim())[0]!, 'dead', { reason: 'no' }));
    expect(await deadRow(queue.admin, first)).toBeDefined();
    expect(await claimed(me)).toEqual([]);
    return [me, first, second];
  }

  test('holds its group until it is revived, and is the first one again', async () => {
    const [me, first, second] = await dieFirst();
    await queue.admin.rows('select taskq.revive($1)', [first]);
    const tasks = await me.claim({ start: 10 });
    expect(tasks.map(({ id }) => id)).toEqual([first]);
    await complete(me, tasks);
    expect(await claimed(me)).toEqual([second]);
  });

  test('revived for later, lets its group go on meanwhile', async () => {
    const [me, first, second] = await dieFirst();
    await queue.admin.rows('select taskq.revive($1, \'{"delay_ms": 3600000}\')', [first]);
    expect(await claimed(me)).toEqual([second]);
  });

  test('added by hand takes back a slot that nobody has claimed', async () => {
    await setQueue({ group_limit: 1, group_on_dead: 'hold' });
    const [first, second] = [await inGroup('ann'), await inGroup('ann')];
    await queue.admin.rows("select taskq.claim(1, '{default}', '{other}', 1, 0, 30000)");
    expect(await liveRow(queue.admin, first)).toMatchObject({ status: 'pending' });
    await queue.admin.rows("select taskq.add_dead($1, 'by hand')", second);
    expect(await claimed(await worker())).toEqual([]);
  });

  test('or discarded', async () => {
    const [me, first, second] = await dieFirst();
    await queue.admin.rows('select taskq.discard($1)', [first]);
    expect(await claimed(me)).toEqual([second]);
  });

  test.each([
    ['discard', 'select from taskq.discard(array[$1::bigint])'],
    ['an operation that discards', 'select taskq.discard_batch(array[$1::bigint])'],
  ])('and %s wakes an idle worker for what comes next', async (_, sql) => {
    const [me, first, second] = await dieFirst();
    await queue.admin.rows('select taskq.mark_idle($1, null, 60000)', me.id);
    const wakes = await listenTo(queue, 'taskq_wake');
    await queue.admin.rows(sql, first);
    await wakes.untilReceived();
    expect(await claimed(me)).toEqual([second]);
  });

  test('or until that is no longer asked for', async () => {
    const [me, , second] = await dieFirst();
    await setQueue({ group_on_dead: 'go-on' });
    await expect.poll(() => claimed(me)).toEqual([second]);
  });

  test('that was replaced while it ran holds nothing: the new task runs in its turn, and then what comes after', async () => {
    await setQueue({ group_limit: 1, group_on_dead: 'hold' });
    const replace = (n: number) =>
      enqueue(queue.admin, { group: 'ann', key: 'k', on_held: 'replace' }, { n });
    const first = await replace(1);
    const second = await inGroup('ann');
    const me = await worker();
    const [running] = await me.claim({ start: 10 });
    await replace(2);
    await me.settle(outcome(running!, 'dead', { reason: 'no' }));
    expect(await deadRow(queue.admin, first)).toBeDefined();
    const next = await me.claim({ start: 10 });
    expect(next.map(({ id }) => id)).toEqual([second]);
    await complete(me, next);
    const replacing = await me.claim({ start: 10 });
    expect(replacing).toMatchObject([{ payload: { n: 2 } }]);
    await complete(me, replacing);
    const third = await inGroup('ann');
    expect(await claimed(me)).toEqual([third]);
  });

  test('whose key a newer task has taken is revived once that one is cancelled, or discarded for it', async () => {
    await setQueue({ group_limit: 1, group_on_dead: 'hold' });
    const keyed = () => inGroup('ann', { key: 'k' });
    const first = await keyed();
    const me = await worker();
    await me.settle(outcome((await me.claim())[0]!, 'dead', { reason: 'no' }));
    const newer = await keyed();
    expect(await claimed(me)).toEqual([]);
    expect(await queue.admin.rows('select answer, extra from taskq.revive($1)', [first])).toEqual([
      { answer: 'key_held', extra: { key: 'k', holder: newer } },
    ]);
    await queue.admin.rows('select taskq.cancel($1)', [newer]);
    await queue.admin.rows('select taskq.revive($1)', [first]);
    const [revived] = await me.claim({ start: 10 });
    expect(revived!.id).toBe(first);
    await me.settle(outcome(revived!, 'dead', { reason: 'no' }));
    const newest = await keyed();
    expect(await claimed(me)).toEqual([]);
    await queue.admin.rows('select taskq.discard($1)', [first]);
    expect(await claimed(me)).toEqual([newest]);
  });
});

test('a task that snoozes its group stops it until its own time, and keeps its slot', async () => {
  await setQueue({ group_limit: 2, group_order: 'relaxed' });
  const ids = [await inGroup('ann'), await inGroup('ann'), await inGroup('ann')];
  const me = await worker();
  const [first, second] = await me.claim({ start: 10 });
  await me.settle(outcome(first!, 'snoozed', { delay_ms: 60_000, hold: 'group' }));
  await complete(me, [second!]);
  expect(await claimed(me)).toEqual([]);
  await queue.admin.rows('select taskq.retry($1)', [ids[0]]);
  expect(await claimed(me)).toEqual([ids[0], ids[2]]);
});

test('a task that snoozes its group waits as long as the group is paused, even if the ask for its time is lost', async () => {
  await setQueue({ group_limit: 1 });
  const id = await inGroup('ann');
  const me = await worker();
  await me.settle(outcome((await me.claim())[0]!, 'snoozed', { delay_ms: 1500, hold: 'group' }));
  await queue.admin.rows('delete from taskq.asks');
  await queue.admin.rows("select taskq.pause_group('default', 'ann')");
  await expect
    .poll(async () => {
      expect(await claimed(me)).toEqual([]);
      return queue.admin.value('select gate from taskq.tasks where id = $1', id);
    })
    .toBe('w');
  await queue.admin.rows("select taskq.resume_group('default', 'ann')");
  expect(await claimed(me)).toEqual([id]);
});

test('a group that one of its tasks snoozed starts again at the time of that after the clock was set back', async () => {
  await setQueue({ group_limit: 2 });
  const ids = [await inGroup('ann'), await inGroup('ann')];
  const me = await worker();
  await me.settle(outcome((await me.claim({ start: 1 }))[0]!, 'snoozed', { delay_ms: 1500, hold: 'group' }));
  await queue.admin.rows(
    "select taskq.rescue(0, 10000, $1, '{}', jsonb_build_object('clock_was', clock_timestamp()))",
    me.id,
  );
  expect(await claimed(me)).toEqual([]);
  const started: string[] = [];
  await expect.poll(async () => started.push(...(await claimed(me))), { timeout: 5000 }).toBe(2);
  expect(started).toEqual(ids);
});

test('a task that snoozes its group and is aged starts its group again', async () => {
  await setQueue({ group_limit: 2 });
  const ids = [await inGroup('ann'), await inGroup('ann')];
  const me = await worker();
  const first = await me.claim();
  await me.settle(outcome(first[0]!, 'snoozed', { delay_ms: 60_000, hold: 'group' }));
  expect(await claimed(me)).toEqual([]);
  await age(ids[0]!);
  expect(await claimed(me)).toEqual(ids);
});

test('a task without a group that snoozes its group is recorded beside others', async () => {
  await setQueue({ group_limit: 1 });
  const ids = [await enqueue(queue.admin), await inGroup('ann')];
  const me = await worker();
  const tasks = await me.claim({ start: 10 });
  expect(new Set(tasks.map(({ id }) => id))).toEqual(new Set(ids));
  const answers = await me.settle(
    outcome(tasks[0]!, 'snoozed', { delay_ms: 60_000, hold: 'group' }),
    outcome(tasks[1]!, 'snoozed', { delay_ms: 60_000, hold: 'group' }),
  );
  expect(answers.map(({ answer }) => answer)).toEqual(['recorded', 'recorded']);
});

describe('a single group', () => {
  const listed = () =>
    queue.admin.rows(
      "select name, group_limit, slots, holding, waiting, delayed from taskq.list_groups('default')",
    );

  test('has a limit of its own, above or below that of its queue', async () => {
    await setQueue({ group_limit: 1 });
    const ids = [await inGroup('ann'), await inGroup('ann'), await inGroup('ann')];
    await inGroup('ann', { delay_ms: 60_000 });
    await queue.admin.rows(`select taskq.set_group('default', 'ann', '{"limit": 2}')`);
    const me = await worker();
    expect(await claimed(me)).toEqual(ids.slice(0, 2));
    expect(await listed()).toEqual([
      { name: 'ann', group_limit: 2, slots: 2, holding: '2', waiting: '1', delayed: '1' },
    ]);
    await queue.admin.rows(`select taskq.set_group('default', 'ann', '{"limit": null}')`);
    expect(await claimed(me)).toEqual([]);
    await queue.admin.rows(`select taskq.set_group('default', 'ann', '{"limit": 3}')`);
    expect(await claimed(me)).toEqual([ids[2]]);
  });

  test('is listed among those that are stopped if it is paused, held at a dead letter, or put off', async () => {
    await setQueue({ group_on_dead: 'hold' });
    const stopped = async (after: string, limit: number) =>
      (
        await queue.admin.rows<{ name: string }>(
          `select name from taskq.list_groups('default', $1, $2, '{"stopped": true}')`,
          after,
          limit,
        )
      ).map(({ name }) => name);
    const ids = new Map<string, string>();
    for (const name of ['free', 'held', 'off', 'paused'])
      ids.set(name, await inGroup(name, { max_attempts: 1 }));
    for (const name of ['empty', 'paused'])
      await queue.admin.rows("select taskq.pause_group('default', $1)", name);
    const me = await worker();
    const tasks = await me.claim({ start: 10 });
    const of = (group: string) => tasks.find(({ id }) => id === ids.get(group))!;
    await me.settle(
      outcome(of('held'), 'failed', { error: { name: 'E' } }),
      outcome(of('off'), 'snoozed', { delay_ms: 60_000, hold: 'group' }),
      outcome(of('free'), 'snoozed', { delay_ms: 60_000 }),
    );
    expect(await stopped('', 10)).toEqual(['empty', 'held', 'off', 'paused']);
    expect(await stopped('empty', 2)).toEqual(['held', 'off']);
  });

  test('starts nothing while it is paused, not even what had a slot', async () => {
    const id = await inGroup('ann');
    const me = await worker();
    await me.claim({ types: ['other'] });
    await queue.admin.rows("select taskq.pause_group('default', 'ann', 'bob', 'deploy')");
    expect(await claimed(me)).toEqual([]);
    expect(await queue.admin.value('select taskq.explain($1)', id)).toMatchObject({
      may_start_at: null,
      causes: [{ cause: 'group_paused', group: 'ann', reason: 'deploy', by: expect.stringContaining('bob') }],
    });
    expect(await queue.admin.value("select taskq.resume_group('default', 'ann')")).toBe(true);
    expect(await queue.admin.value("select taskq.resume_group('default', 'ann')")).toBe(false);
    expect(await claimed(me)).toEqual([id]);
  });

  test('keeps the slot of what runs while it is paused, and is not looked at again for that', async () => {
    await setQueue({ group_limit: 2 });
    await inGroup('a');
    await inGroup('a');
    const me = await worker();
    await me.claim({ start: 1, ahead: 1 });
    await queue.admin.rows("select taskq.pause_group('default', 'a')");
    // The first claim looks at the group.
    for (let n = 0; n < 2; n++) expect(await claimed(me)).toEqual([]);
    expect(await queue.admin.rows('select gate, status from taskq.tasks order by id')).toEqual([
      { gate: 'h', status: 'running' },
      { gate: 'h', status: 'leased' },
    ]);
    expect(await queue.admin.rows('select key, due_at from taskq.asks')).toEqual([]);
  });

  test('does not retry while it is paused what failed after that, whatever its order', async () => {
    await setQueue({ group_limit: 1 });
    const id = await inGroup('ann');
    const me = await worker();
    const running = await me.claim();
    await queue.admin.rows("select taskq.pause_group('default', 'ann')");
    expect(await claimed(me)).toEqual([]);
    await me.settle(...running.map((task) => outcome(task, 'failed', { delay_ms: 0 })));
    expect(await claimed(me)).toEqual([]);
    await queue.admin.rows("select taskq.resume_group('default', 'ann')");
    expect(await claimed(me)).toEqual([id]);
  });

  test.each([
    [{ limit: 0 }, 'set_group: limit 0: expected a whole number from 1'],
    [{ most: 1 }, 'unknown option "most"'],
  ])('%j is refused', async (settings, error) => {
    await expect(
      queue.admin.rows("select taskq.set_group('default', 'ann', $1)", JSON.stringify(settings)),
    ).rejects.toThrow(error);
  });
});

describe('a task that replaces the holder of its key', () => {
  const replace = (payload: object, options: object = {}) =>
    enqueue(queue.admin, { group: 'ann', key: 'k', on_held: 'replace', ...options }, payload);

  test('waits for a slot as the holder did', async () => {
    await setQueue({ group_limit: 1 });
    const first = await inGroup('ann');
    const id = await replace({ n: 1 });
    expect(await replace({ n: 2 })).toBe(id);
    const me = await worker();
    const tasks = await me.claim({ start: 10 });
    expect(tasks.map((task) => task.id)).toEqual([first]);
    await complete(me, tasks);
    expect(await me.claim({ start: 10 })).toMatchObject([{ id, payload: { n: 2 } }]);
  });

  test('gives up the slot of the holder for its own delay', async () => {
    await setQueue({ group_limit: 1 });
    const id = await replace({ n: 1 });
    const me = await worker();
    await me.claim({ types: ['other'] });
    const second = await inGroup('ann');
    await replace({ n: 2 }, { delay_ms: 60_000 });
    const tasks = await me.claim({ start: 10 });
    expect(tasks.map((task) => task.id)).toEqual([second]);
    await complete(me, tasks);
    await age(id);
    expect(await me.claim({ start: 10 })).toMatchObject([{ id, payload: { n: 2 } }]);
  });

  test('asks for its own time only, however often it puts that off', async () => {
    for (let n = 1; n <= 3; n++) await replace({ n }, { delay_ms: n * 60_000 });
    expect(await queue.admin.rows('select due_at = not_before as own from taskq.asks, taskq.tasks')).toEqual([
      { own: true },
    ]);
    const id = await queue.admin.value<string>('select id from taskq.tasks');
    await age(id);
    expect(await (await worker()).claim({ start: 10 })).toMatchObject([{ id, payload: { n: 3 } }]);
  });

  test('waits for its own time, even if another session had the ask for the old time', async () => {
    const id = await replace({ n: 1 }, { delay_ms: 60_000 });
    const other = await queue.session();
    await other.rows('begin');
    await other.rows('select from taskq.asks for update');
    await replace({ n: 2 }, { delay_ms: 120_000 });
    await other.rows('rollback');
    await queue.admin.rows(
      'update taskq.asks a set due_at = clock_timestamp() from taskq.tasks t where a.due_at < t.not_before',
    );
    const me = await worker();
    expect(await claimed(me)).toEqual([]);
    expect(await liveRow(queue.admin, id)).toMatchObject({ gate: 'd', status: 'blocked' });
    await age(id);
    expect(await me.claim()).toMatchObject([{ id, payload: { n: 2 } }]);
  });

  test('runs after a holder that runs, in its group', async () => {
    await setQueue({ group_limit: 1 });
    await replace({ n: 1 });
    const me = await worker();
    const tasks = await me.claim({ start: 10 });
    await replace({ n: 2 });
    expect(await claimed(me)).toEqual([]);
    await complete(me, tasks);
    expect(await me.claim({ start: 10 })).toMatchObject([{ payload: { n: 2 } }]);
    expect(await queue.admin.value('select gate from taskq.tasks')).toBe('h');
  });
});

describe('a task that expires', () => {
  const expired = (id: string) =>
    queue.admin.rows("update taskq.tasks set expires_at = '2020-01-01' where id = $1", id);

  test('with a slot that no worker has claimed gives it back at that time', async () => {
    await setQueue({ group_limit: 1 });
    const first = await inGroup('ann', { expires_ms: 3_600_000 });
    const second = await inGroup('ann');
    const me = await worker();
    await me.claim({ types: ['other'] });
    await me.claim({ types: ['other'] });
    expect(await liveRow(queue.admin, first)).toMatchObject({ gate: 'h' });
    await expired(first);
    expect(
      await queue.admin.value('select count(*)::integer from taskq.asks where due_at > clock_timestamp()'),
    ).toBe(1);
    await queue.admin.rows("update taskq.asks set due_at = clock_timestamp() where key = 'ann'");
    expect(await claimed(me)).toEqual([second]);
    await queue.admin.rows('select taskq.expire(10)');
    expect(await liveRow(queue.admin, first)).toBeUndefined();
  });

  test('after it was given back unstarted does so too', async () => {
    await setQueue({ group_limit: 1 });
    const first = await inGroup('ann', { expires_ms: 3_600_000 });
    const second = await inGroup('ann');
    const me = await worker();
    const [ahead] = await me.claim({ start: 0, ahead: 1 });
    await me.giveBack([ahead!], false);
    await me.claim({ types: ['other'] });
    await expired(first);
    await queue.admin.rows("update taskq.asks set due_at = clock_timestamp() where key = 'ann'");
    expect(await claimed(me)).toEqual([second]);
  });

  test('while it waits for a slot gets none', async () => {
    await setQueue({ group_limit: 1 });
    await inGroup('ann');
    const second = await inGroup('ann', { expires_ms: 3_600_000 });
    const third = await inGroup('ann');
    const me = await worker();
    const running = await me.claim({ start: 10 });
    await expired(second);
    await complete(me, running);
    expect(await claimed(me)).toEqual([third]);
  });
});

test('a queue whose tasks are grouped by type limits each type, but for tasks that name a group', async () => {
  await setQueue({ group_limit: 1, group_by: 'type' });
  const ids = [await enqueue(queue.admin), await enqueue(queue.admin), await inGroup('ann')];
  expect(await claimed(await worker())).toEqual([ids[0], ids[2]]);
  expect(await liveRow(queue.admin, ids[1]!)).toMatchObject({ group_key: 'work', status: 'blocked' });
});

test('what ends or frees a slot lets the next one start', async () => {
  await setQueue({ group_limit: 1 });
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.push(await inGroup('ann'));
  const me = await worker();
  const next = async (expected: string | undefined) => {
    const [task] = await me.claim({ start: 10 });
    expect(task?.id).toBe(expected);
    return task!;
  };
  await me.settle(outcome(await next(ids[0]), 'cancelled'));
  await me.giveBack([await next(ids[1])]);
  await queue.admin.rows('select taskq.cancel($1)', [ids[1]]);
  const lost = await next(ids[2]);
  await queue.admin.rows(
    'update taskq.tasks set losses = 2, lease_owner = 7, lease_expires_at = $2 where id = $1',
    lost.id,
    '2020-01-01',
  );
  await queue.admin.rows('select taskq.rescue(0, 1000)');
  await queue.admin.rows("update taskq.tasks set expires_at = '2020-01-01' where id = $1", ids[3]);
  await queue.admin.rows('select taskq.expire(10)');
  await next(ids[4]);
});

test('a rescue keeps the slot', async () => {
  await setQueue({ group_limit: 1 });
  const [first] = [await inGroup('ann'), await inGroup('ann')];
  const me = await worker();
  await me.claim();
  await queue.admin.rows(
    'update taskq.tasks set lease_owner = 7, lease_expires_at = $1 where id = $2',
    '2020-01-01',
    first,
  );
  await queue.admin.rows('select taskq.rescue(0, 1000)');
  expect(await claimed(me)).toEqual([first]);
});

/** What a claim of up to ten tasks takes, and what it says of tasks that the database refuses to write. */
async function claimedAndRefused(me: PlainWorker): Promise<{ ids: string[]; refused: object[] }> {
  const rows = await me.session.rows<{ id: string | null; extra: { refused?: object[] } }>(
    `select id, extra from taskq.claim($1, '{default}', '{work}', 10, 0, 30000, null, null, '{"looked": true}')
     order by id`,
    me.id,
  );
  return {
    ids: rows.flatMap(({ id }) => id ?? []),
    refused: rows.flatMap(({ id, extra }) => (id === null ? (extra.refused ?? []) : [])),
  };
}

const refusalOf = (id: string) => ({
  ...{ id, queue: 'default', type: 'work', error: 'not allowed by the application', code: 'P0001' },
});

describe('a task that a trigger of the application refuses', () => {
  const refusedInGroup = (group: string, options: object = {}) =>
    enqueue(queue.admin, { group, ...options }, { refused: true });
  const ofRefused = "new.payload ? 'refused'";

  test('is passed and named: the next of its group gets the slot, and other groups and tasks go on', async () => {
    await refuseChanges(queue.admin, 'create trigger', ofRefused);
    await setQueue({ group_limit: 1 });
    const refused = await refusedInGroup('ann');
    const others = [await inGroup('ann'), await inGroup('bob'), await enqueue(queue.admin)];
    const me = await worker();
    expect(await claimedAndRefused(me)).toEqual({ ids: others, refused: [refusalOf(refused)] });
    expect(await liveRow(queue.admin, refused)).toMatchObject({ status: 'blocked' });
  });

  test('at the commit is passed by a claim that tries one by one', async () => {
    await refuseChanges(queue.admin, 'create constraint trigger', ofRefused);
    await refusedInGroup('ann');
    const others = [await inGroup('ann'), await inGroup('bob')];
    const me = await worker();
    await expect(me.claim({ start: 10 })).rejects.toThrow('not allowed by the application');
    const rows = await me.session.rows<{ id: string }>(
      `select id from taskq.claim($1, '{default}', '{work}', 10, 0, 30000, null, null, '{"one_by_one": true}')
       order by id`,
      me.id,
    );
    expect(rows.map(({ id }) => id)).toEqual(others);
  });

  test('at its time stops no claim, and starts once it is no longer refused', async () => {
    await refuseChanges(queue.admin, 'create trigger', ofRefused);
    const refused = await refusedInGroup('ann', { delay_ms: 1 });
    const other = await inGroup('bob');
    const me = await worker();
    await expect.poll(() => claimedAndRefused(me)).toEqual({ ids: [other], refused: [refusalOf(refused)] });
    expect(await claimed(me)).toEqual([]);
    const named = await inGroup('bob');
    expect(
      await queue.admin.rows('select id from taskq.claim_one($1, $2, 30000)', me.id, named),
    ).toHaveLength(1);
    await queue.admin.rows('alter table taskq.tasks disable trigger refuse');
    await expect.poll(() => claimed(me)).toEqual([refused]);
  });
});

test('a slot that a trigger of the application refuses to have taken back is named, and asked about in 5 s', async () => {
  await setQueue({ group_limit: 1 });
  const kept = await inGroup('ann');
  const me = await worker();
  // A slot, but no worker for it.
  await me.claim({ types: ['other'] });
  await refuseChanges(queue.admin, 'create trigger', `old.id = ${kept} and new.gate = 'w'`);
  const urgent = await inGroup('ann', { priority: 0 });
  for (let n = 0; n < 3; n++)
    expect(await claimedAndRefused(me)).toEqual({ ids: [], refused: [refusalOf(kept)] });
  const asks = "select count(*)::integer from taskq.asks where due_at > now() + interval '3 s'";
  expect(await queue.admin.value(asks)).toBe(1);
  expect(await queue.admin.value('select count(*)::integer from taskq.asks')).toBe(1);
  await queue.admin.rows('alter table taskq.tasks disable trigger refuse');
  expect(await claimed(me)).toEqual([urgent]);
});

test('so is one whose slot is kept by a task that waits for a retry, where the order has become relaxed', async () => {
  await setQueue({ group_limit: 1 });
  const kept = await inGroup('ann');
  const me = await worker();
  const [task] = await me.claim();
  await me.settle(outcome(task!, 'failed', { error: {}, delay_ms: 3_600_000 }));
  await inGroup('ann');
  await refuseChanges(queue.admin, 'create trigger', `old.id = ${kept} and new.gate in ('w', 'd')`);
  await setQueue({ group_order: 'relaxed' });
  // A change of the queue is attended to by one claim, and what its groups ask for then by the next.
  await claimed(me);
  expect(await claimedAndRefused(me)).toEqual({ ids: [], refused: [refusalOf(kept)] });
});

describe('how many groups have their turn', () => {
  const many = (groups: number, each: number) =>
    queue.admin.rows(
      `select from taskq.enqueue_many((
         select jsonb_agg(jsonb_build_object('type', 'work', 'payload', 1, 'group', 'group ' || n % $1::integer))
         from generate_series(1, $1::integer * $2::integer) as n
       ))`,
      groups,
      each,
    );
  const groupsOf = (tasks: readonly { id: string }[]) =>
    queue.admin.rows<{ group_key: string; tasks: number }>(
      'select group_key, count(*)::integer as tasks from taskq.tasks where id = any ($1) group by 1',
      tasks.map(({ id }) => id),
    );

  test('as many as have slots for what the claim takes: none of them is left unclaimed', async () => {
    await setQueue({ group_limit: 5 });
    await many(10, 10);
    const me = await worker();
    expect((await groupsOf(await me.claim({ start: 10 }))).map(({ tasks }) => tasks)).toEqual([5, 5]);
    expect(await queue.admin.value("select count(*)::integer from taskq.tasks where gate = 'h'")).toBe(10);
  });

  test('as many as tasks without a limit, also in a queue with settings', async () => {
    await setQueue({ group_limit: null });
    await many(20, 10);
    const me = await worker();
    for (let turn = 0; turn < 2; turn++)
      expect((await groupsOf(await me.claim({ start: 10 }))).map(({ tasks }) => tasks)).toEqual(
        Array.from({ length: 10 }, () => 1),
      );
  });

  test('more where the first ones have no slot to give', async () => {
    await setQueue({ group_limit: 10 });
    for (let n = 0; n < 20; n++)
      await queue.admin.rows("select taskq.pause_group('default', $1)", `group ${n}`);
    await many(20, 10);
    const free = await inGroup('free');
    const me = await worker();
    const taken: string[] = [];
    for (let claims = 0; claims < 3; claims++) taken.push(...(await claimed(me)));
    expect(taken).toEqual([free]);
  });

  test('more where their own limits are lower than that of their queue', async () => {
    await setQueue({ group_limit: 10 });
    for (let n = 0; n < 20; n++)
      await queue.admin.rows(`select taskq.set_group('default', $1, '{"limit": 1}')`, `group ${n}`);
    await many(20, 10);
    const me = await worker();
    expect(await claimed(me)).toHaveLength(10);
  });
});

describe('groups without a limit', () => {
  test('take turns, however often one has asked', async () => {
    await queue.admin.rows(
      `select e.id from generate_series(1, 200) as n
       cross join lateral taskq.enqueue('work', to_jsonb(n), '{"group": "large"}') as e`,
    );
    const small = await inGroup('small');
    const me = await worker();
    await me.claim();
    expect((await me.claim()).map(({ id }) => id)).toEqual([small]);
  });

  test('leave no more asks than there are groups, however many tasks they have run', async () => {
    await enqueueSome(queue.admin, 50, { group: 'ann' });
    await enqueueSome(queue.admin, 50, { group: 'bob' });
    const me = await worker();
    for (let n = 0; n < 40; n++) await complete(me, await me.claim({ start: 2 }));
    await me.claim({ start: 2 });
    expect(await queue.admin.value('select count(*)::integer from taskq.asks')).toBe(2);
  });
});

describe('what is asked for', () => {
  const asks = () => queue.admin.value<number>('select count(*)::int from taskq.asks');

  test('goes with a delayed task that ends before its time', async () => {
    const delayed = [
      await inGroup('ann', { delay_ms: 3_600_000 }),
      await inGroup('bob', { delay_ms: 60_000 }),
    ];
    expect(await asks()).toBe(2);
    await queue.admin.rows('select taskq.cancel($1)', [delayed[0]]);
    expect(await asks()).toBe(1);
    await queue.admin.rows('select taskq.add_dead($1, $2)', delayed[1], 'no need');
    expect(await queue.admin.value('select count(*)::int from taskq.asks where due_at > now()')).toBe(0);
  });

  test('is one look at a group whose tasks may expire with their slots, however many come and go', async () => {
    await setQueue({ group_limit: 2 });
    const me = await worker();
    for (let n = 0; n < 5; n++) {
      for (let m = 0; m < 4; m++) await inGroup('ann', { expires_ms: 3_600_000 });
      for (let m = 0; m < 3; m++) await complete(me, await me.claim({ start: 10 }));
    }
    expect(await queue.admin.value('select count(*)::int from taskq.tasks')).toBe(0);
    expect(await asks()).toBeLessThanOrEqual(1);
  });

  test('is asked again for the next task that may expire with its slot', async () => {
    await setQueue({ group_limit: 2 });
    const ids = [
      await inGroup('ann', { expires_ms: 3_600_000 }),
      await inGroup('ann', { expires_ms: 7_200_000 }),
    ];
    await inGroup('ann');
    const me = await worker();
    // Slots, but no worker for them.
    await me.claim({ types: ['other'] });
    const pass = async () => {
      await queue.admin.rows(
        "update taskq.tasks set expires_at = expires_at - interval '1 h', not_before = not_before - interval '1 h'",
      );
      await queue.admin.rows("update taskq.asks set due_at = due_at - interval '1 h'");
      await me.claim({ types: ['other'] });
    };
    const holders = () =>
      queue.admin.value("select array_agg(id::text order by id) from taskq.tasks where gate = 'h'");
    expect(await holders()).toEqual(ids);
    await pass();
    expect(await holders()).not.toContain(ids[0]);
    expect(await holders()).toContain(ids[1]);
    await pass();
    expect(await holders()).not.toContain(ids[1]);
  });
});

describe('a task that was taken out of its group by hand', () => {
  test.each(['h', 's'])('is claimed as an ordinary one if it has a slot (%s)', async (gate) => {
    await setQueue({ group_limit: 1 });
    await queue.admin.rows(
      `insert into taskq.tasks (type, available_at, not_before, created_at, gate)
       select 'work', now(), now(), now(), $1::"char" from generate_series(1, 2)`,
      gate,
    );
    const other = await enqueue(queue.admin);
    const me = await worker();
    await queue.admin.rows("insert into taskq.asks (due_at, queue, key) values (now(), 'default', '')");
    expect(await claimed(me)).toEqual(expect.arrayContaining([other]));
    expect(await queue.admin.value("select count(*)::int from taskq.tasks where status = 'running'")).toBe(3);
  });

  test.each(['strict', 'relaxed'])('while it runs waits for its retry (%s)', async (order) => {
    await setQueue({ group_limit: 1, group_order: order });
    const id = await inGroup('ann');
    const me = await worker();
    const [task] = await me.claim();
    const other = await enqueue(queue.admin);
    const [second] = await me.claim();
    await queue.admin.rows('update taskq.tasks set group_key = null where id = $1', id);
    const answers = await me.settle(outcome(task!, 'failed'), outcome(second!, 'failed'));
    expect(answers.map(({ answer }) => answer)).toEqual(['recorded', 'recorded']);
    for (const each of [id, other])
      expect(await liveRow(queue.admin, each)).toMatchObject({ status: 'pending', gate: null, attempts: 1 });
  });
});

describe('claiming a task by its id', () => {
  const claimOne = (by: PlainWorker, id: string) =>
    queue.admin.rows<{ id: string }>('select id from taskq.claim_one($1, $2, 30000)', by.id, id);

  test('gives it a slot, however many groups asked before its own', async () => {
    const tasks = Array.from({ length: 2000 }, (_, n) => ({ type: 'work', group: `before ${n}` }));
    await queue.admin.rows('select from taskq.enqueue_many($1)', JSON.stringify(tasks));
    const me = await worker();
    const last = await inGroup('last');
    expect(await claimOne(me, last)).toEqual([{ id: last }]);
  });

  test('takes none of a group that was paused, or has a lower limit, since it got its slot', async () => {
    await setQueue({ group_limit: 5, max_running: 10, rate: '1/1h', burst: 10 });
    const ids = await enqueueSome(queue.admin, 3, { group: 'ann' });
    const me = await worker();
    const spent = () =>
      queue.admin.value<number>(
        'select count(*)::int from taskq.limit_states where used_to > clock_timestamp()',
      );
    // Slots, but no worker for them.
    await me.claim({ types: ['other'] });
    await queue.admin.rows("select taskq.pause_group('default', 'ann')");
    expect(await claimOne(me, ids[0]!)).toEqual([]);
    expect(await spent()).toBe(0);
    await queue.admin.rows("select taskq.resume_group('default', 'ann')");
    expect(await claimOne(me, ids[0]!)).toEqual([{ id: ids[0] }]);
    expect(await spent()).toBe(1);
    await setQueue({ group_limit: 1 });
    expect(await claimOne(me, ids[1]!)).toEqual([]);
  });

  test('takes one whose time has come, and none before its time', async () => {
    const me = await worker();
    const delayed = await inGroup('ann', { delay_ms: 3_600_000 });
    expect(await claimOne(me, delayed)).toEqual([]);
    await age(delayed);
    expect(await claimOne(me, delayed)).toEqual([{ id: delayed }]);
  });

  test('does not take it while its group has no slot for it', async () => {
    await setQueue({ group_limit: 1 });
    const me = await worker();
    const [first, second] = [await inGroup('ann'), await inGroup('ann')];
    expect(await claimOne(me, first)).toEqual([{ id: first }]);
    expect(await claimOne(me, second)).toEqual([]);
  });
});

test('a group that another session attends to for long hides no other group', async () => {
  await setQueue({ group_limit: 1 });
  await inGroup('ann');
  await queue.admin.rows(
    `insert into taskq.asks (due_at, queue, key)
     select clock_timestamp() - interval '1 minute', 'default', 'ann' from generate_series(1, 100)`,
  );
  const other = await queue.session();
  await other.rows('begin');
  await other.rows(
    "select from taskq.group_mutexes where place = taskq.mutex_of('default', 'ann') for no key update",
  );
  const id = await inGroup('bob');
  const me = await worker();
  await expect.poll(async () => (await me.claim()).map((task) => task.id)).toEqual([id]);
  await other.rows('rollback');
  expect(await claimed(me)).toHaveLength(1);
});

describe('groups that the open claim of another session has', () => {
  /** Claims from this many groups in a transaction that stays open; then a group asks that shares no mutex with them. */
  async function hold(groups: number): Promise<string> {
    await setQueue({ group_limit: 1 });
    const tasks = Array.from({ length: groups }, (_, n) => ({ type: 'work', group: `held ${n}` }));
    await queue.admin.rows('select from taskq.enqueue_many($1)', JSON.stringify(tasks));
    await queue.admin.rows("update taskq.asks set due_at = due_at - interval '1 minute'");
    const other = await worker();
    await other.session.rows('begin');
    for (let held = 0; held < groups; ) held += (await other.claim({ start: 1000 })).length;
    const free = await queue.admin.value<string>(
      `select 'free ' || n from generate_series(0, 1000) as n
       where taskq.mutex_of('default', 'free ' || n) not in (
         select taskq.mutex_of('default', t.group_key) from taskq.tasks t
       )
       limit 1`,
    );
    return inGroup(free);
  }

  test('take no turn of a claim of one task', async () => {
    const id = await hold(900);
    expect(await claimed(await worker())).toEqual([id]);
  });

  test('are passed by the claims of one task, however many they are', async () => {
    const id = await hold(3000);
    const me = await worker();
    const claimer = claimerOf(me.session, me);
    const got: string[] = [];
    for (let n = 0; n < 4; n++) got.push(...(await claimer.claim(1)).map((task) => task.id));
    expect(got).toEqual([id]);
  });
});

describe('a high limit', () => {
  test('gives out no more slots than a claim can use, and the rest to the next claims', async () => {
    await setQueue({ group_limit: 1_000_000 });
    await enqueueSome(queue.admin, 1000, { group: 'ann' });
    const me = await worker();
    const given = () =>
      queue.admin.value("select count(*)::integer from taskq.tasks where status <> 'blocked'");
    expect(await me.claim({ start: 20 })).toHaveLength(20);
    expect(await given()).toBe(20);
    expect(await me.claim({ start: 500 })).toHaveLength(500);
    expect(await me.claim({ start: 500 })).toHaveLength(480);
  });

  test('that is lowered takes back all that has not started, a thousand at a time', async () => {
    await setQueue({ group_limit: 1_000_000 });
    await enqueueSome(queue.admin, 2500, { group: 'ann' });
    const me = await worker();
    for (const start of [1000, 1000, 500]) await me.claim({ start, types: ['other'] });
    const given = () =>
      queue.admin.value("select count(*)::integer from taskq.tasks where status = 'pending'");
    expect(await given()).toBe(2500);
    await setQueue({ group_limit: 3 });
    // The first claim only finds out which groups the new limit is for.
    const left = [];
    for (let n = 0; n < 4; n++) {
      await me.claim({ types: ['other'] });
      left.push(await given());
    }
    expect(left).toEqual([2500, 1500, 500, 3]);
  });
});
