import { describe, expect, onTestFinished, test } from 'vitest';
import { listenTo } from './listening.ts';
import { enqueue, enqueueSome, lapse, makeDue, refuseChanges, rescueAll, silence } from './rows.ts';
import { useDatabase } from './session.ts';
import { patiently, waitUntilBlocked } from './waiting.ts';
import { type Claimed, LEASE_MS, outcome, type PlainWorker, registerWorker } from './worker.ts';

const queue = useDatabase();

const worker = async () => registerWorker(await queue.session());

function setQueue(settings: object, name = 'default'): Promise<unknown> {
  return queue.admin.rows('select taskq.set_queue($1, $2)', name, JSON.stringify(settings));
}

/** What a claim brings, and what its last row says. */
interface Answered {
  readonly tasks: readonly Claimed[];
  readonly about: {
    readonly looked_to_us: number;
    readonly queues: readonly string[];
    readonly levels: number;
    readonly limited?: Readonly<Record<string, number | null>>;
    readonly wants_slot?: true;
  };
}

interface Asked {
  readonly queues?: readonly string[];
  readonly start?: number;
  readonly ahead?: number;
}

async function claim(by: PlainWorker, { queues = ['default'], start = 10, ahead = 0 }: Asked = {}) {
  const rows = await by.session.rows<Claimed & { extra: Answered['about'] }>(
    `select * from taskq.claim($1, $2, '{work}', $3, $4, ${LEASE_MS}, null, null, '{"looked": true}') order by id`,
    by.id,
    queues,
    start,
    ahead,
  );
  return { tasks: rows.slice(0, -1), about: rows.at(-1)!.extra } as Answered;
}

/** Claims until the tasks that run are counted. */
async function untilOpen(by: PlainWorker): Promise<Answered> {
  for (;;) {
    const answer = await claim(by);
    if (answer.tasks.length > 0) return answer;
  }
}

const complete = (by: PlainWorker, tasks: readonly Claimed[]) =>
  by.settle(...tasks.map((task) => outcome(task, 'completed')));

describe('max_running', () => {
  test('is the most that run at once, whoever claims and whatever the priority', async () => {
    await setQueue({ max_running: 3 });
    for (const priority of [0, 2, 9, 2, 0]) await enqueue(queue.admin, { priority });
    const [me, you] = [await worker(), await worker()];
    const first = await claim(me, { start: 2 });
    expect(first.tasks.map(({ priority }) => priority)).toEqual([0, 0]);
    expect((await claim(you)).tasks.map(({ priority }) => priority)).toEqual([2]);
    const full = await claim(you);
    expect(full).toMatchObject({ tasks: [], about: { limited: { default: null }, queues: [], levels: 0 } });
    await complete(me, first.tasks);
    expect((await claim(you)).tasks.map(({ priority }) => priority)).toEqual([9, 2]);
  });

  test('far above what runs remembers about as many tasks as run', async () => {
    await setQueue({ max_running: 1_000_000 });
    const me = await worker();
    // Claims right after a change count the tasks that run.
    await claim(me);
    await queue.admin.rows('update taskq.limit_states set count_at = null');
    for (let round = 0; round < 8; round++) {
      await enqueueSome(queue.admin, 500);
      const { tasks } = await claim(me, { start: 500 });
      expect(tasks).toHaveLength(500);
      await complete(me, tasks);
      // A look that took long, as on a busy machine, is not repeated at once.
      await queue.admin.rows('update taskq.limit_states set look_at = null');
    }
    expect(
      await queue.admin.value<number>('select cardinality(held) from taskq.limit_states'),
    ).toBeLessThanOrEqual(2000);
  });

  test('has workers woken by a task that ends while another claim takes the last places', async () => {
    await setQueue({ max_running: 2 });
    const [me, you] = [await worker(), await worker()];
    const hints = await listenTo(queue, 'taskq_wake');
    for (let n = 0; n < 3; n++) await enqueue(queue.admin);
    const { tasks } = await claim(me, { start: 1 });
    await queue.admin.rows("select taskq.mark_idle($1, '{default}', 60000)", you.id);
    await me.session.rows('begin');
    await complete(me, tasks);
    expect((await claim(you)).tasks).toHaveLength(1);
    await me.session.rows('commit');
    await hints.untilReceived();
  });

  const WAYS: Readonly<Record<string, (by: PlainWorker, task: Claimed) => Promise<unknown>>> = {
    completed: (by, task) => by.settle(outcome(task, 'completed')),
    failed: (by, task) => by.settle(outcome(task, 'failed', { delay_ms: 60_000 })),
    dead: (by, task) => by.settle(outcome(task, 'dead')),
    snoozed: (by, task) => by.settle(outcome(task, 'snoozed', { delay_ms: 60_000 })),
    cancelled: (by, task) => by.settle(outcome(task, 'cancelled')),
    'given back': (by, task) => by.giveBack([task]),
    'given back and cancelled': async (by, task) => {
      await queue.admin.rows('select taskq.cancel($1)', [task.id]);
      await by.giveBack([task]);
    },
    'lost with its worker': async (by, task) => {
      await lapse(queue.admin, [task.id]);
      await silence(queue.admin, by.id, 60 * 60_000);
      expect(await rescueAll(queue.admin)).toHaveLength(1);
    },
  };
  for (const [way, end] of Object.entries(WAYS))
    test(`a task that is ${way} makes room for the next one, and wakes a worker`, async () => {
      await setQueue({ max_running: 1 });
      await enqueue(queue.admin, { priority: 1 });
      await enqueue(queue.admin);
      const [me, you] = [await worker(), await worker()];
      const { tasks } = await claim(me);
      expect(tasks).toHaveLength(1);
      const hints = await listenTo(queue, 'taskq_wake');
      await you.session.rows(`select taskq.mark_idle($1, null, 10000)`, you.id);
      expect((await claim(you)).tasks).toEqual([]);
      await end(me, tasks[0]!);
      await hints.untilReceived();
      expect((await claim(you)).tasks).toHaveLength(1);
      expect((await claim(you)).tasks).toHaveLength(0);
    });

  test('a task that has been replaced makes room when it completes, though its next run is put off', async () => {
    await setQueue({ max_running: 1 });
    await enqueue(queue.admin, { key: 'k', priority: 0 });
    await enqueue(queue.admin);
    const [me, you] = [await worker(), await worker()];
    const { tasks } = await claim(me);
    await enqueue(queue.admin, { key: 'k', on_held: 'replace', delay_ms: 60_000 });
    const hints = await listenTo(queue, 'taskq_wake');
    await you.session.rows(`select taskq.mark_idle($1, null, 10000)`, you.id);
    await complete(me, tasks);
    await hints.untilReceived();
    expect((await claim(you)).tasks).toHaveLength(1);
  });

  test('set while tasks run counts them', async () => {
    await enqueueSome(queue.admin, 6);
    const [me, you] = [await worker(), await worker()];
    const before = await claim(me, { start: 3 });
    await setQueue({ max_running: 4 });
    expect((await claim(you)).tasks).toHaveLength(1);
    await complete(me, before.tasks.slice(1));
    expect((await claim(you)).tasks).toHaveLength(2);
  });

  test('counts a claim that was in flight when it was set', async () => {
    await enqueueSome(queue.admin, 4);
    const [me, you] = [await worker(), await worker()];
    await me.session.rows('begin');
    expect((await claim(me, { start: 1 })).tasks).toHaveLength(1);
    await setQueue({ max_running: 2 });
    expect((await claim(you, { start: 1 })).tasks).toHaveLength(1);
    await me.session.rows('commit');
    await queue.admin.rows("update taskq.limit_states set count_at = count_at - interval '2 s'");
    expect((await claim(you)).tasks).toEqual([]);
  });

  test('counts a claim that was in flight when it was set, however long that stays open', async () => {
    await enqueueSome(queue.admin, 4);
    const [me, you] = [await worker(), await worker()];
    await me.session.rows('begin');
    expect((await claim(me, { start: 1 })).tasks).toHaveLength(1);
    await setQueue({ max_running: 2 });
    const age = () =>
      queue.admin.rows(
        `update taskq.limit_states set set_at = set_at - interval '1 min', count_at = count_at - interval '1 h'`,
      );
    await age();
    expect((await claim(you, { start: 1 })).tasks).toHaveLength(1);
    await age();
    await me.session.rows('commit');
    expect((await claim(you)).tasks).toEqual([]);
  });

  test('counts a claim that saw no limit and locked its task after the first count, however long that stays open', async () => {
    const [, second] = await enqueueSome(queue.admin, 5);
    const [me, you] = [await queue.directSession(), await worker()];
    await setQueue({ max_running: 3 });
    expect((await claim(you, { start: 1 })).tasks).toHaveLength(1);
    await me.rows('begin');
    await me.rows(
      `update taskq.tasks set status = 'running', lease_owner = $1, lease_no = lease_no + 1,
         started_at = clock_timestamp(), lease_expires_at = clock_timestamp() + interval '1 min'
       where id = $2`,
      you.id,
      second,
    );
    const countAgain = (change: string) => queue.admin.rows(`update taskq.limit_states set ${change}`);
    await countAgain("count_at = count_at - interval '2 s'");
    expect((await claim(you, { start: 1 })).tasks).toHaveLength(1);
    await countAgain("set_at = set_at - interval '1 min', count_at = count_at - interval '1 h'");
    expect((await claim(you, { start: 0, ahead: 1 })).tasks).toEqual([]);
    await me.rows('commit');
    await countAgain("count_at = count_at - interval '1 h'");
    expect((await claim(you)).tasks).toEqual([]);
  });

  test('holds against a claim that saw no limit and stands still before it locks a task', async () => {
    await enqueueSome(queue.admin, 3);
    await enqueue(queue.admin, { queue: 'grouped', group: 'g' });
    const [me, you, holder] = [await worker(), await worker(), await queue.session()];
    // Between the two, a claim attends to groups.
    await queue.admin.rows('alter function taskq.attend rename to attend_late');
    onTestFinished(async () => {
      await queue.admin.rows('drop function if exists taskq.attend');
      await queue.admin.rows('alter function taskq.attend_late rename to attend');
    });
    await queue.admin.rows(
      `create function taskq.attend(
         _queues text[], _open text[], _types text[], _look_back_to timestamptz, _cursor bigint[], _most integer,
         _ts timestamptz, _one_by_one boolean, out left_over jsonb, out given bigint[], out refused jsonb
       )
       language plpgsql as $$
       begin
         perform pg_advisory_xact_lock_shared(14);
         select a.left_over, a.given into left_over, given
         from taskq.attend_late(_queues, _open, _types, _look_back_to, _cursor, _most, _ts) as a;
       end $$`,
    );
    await patiently(queue.admin, ['claim'], async () => {
      await holder.rows('select pg_advisory_lock(14)');
      const late = claim(me, { queues: ['default', 'grouped'] });
      await waitUntilBlocked(queue.admin);
      await setQueue({ max_running: 1 });
      expect((await claim(you)).tasks).toHaveLength(1);
      await holder.rows('select pg_sleep(1), pg_advisory_unlock(14)');
      expect(await late).toMatchObject({ tasks: [], about: { levels: 0 } });
    });
    expect((await claim(you)).tasks).toEqual([]);
  });

  test('counts a claim that was in flight when it was committed, long after it was set', async () => {
    await enqueueSome(queue.admin, 6);
    const [me, you, operator] = [await worker(), await worker(), await queue.session()];
    await operator.rows('begin');
    await operator.rows(`select taskq.set_queue('default', '{"max_running": 2}')`);
    await me.session.rows('begin');
    expect((await claim(me, { start: 2 })).tasks).toHaveLength(2);
    // As if its transaction had been open for a minute.
    await operator.rows("update taskq.queue_limits set since = since - interval '1 min'");
    await operator.rows('commit');
    const first = await claim(you);
    expect(first.tasks).toHaveLength(2);
    await me.session.rows('commit');
    await queue.admin.rows("update taskq.limit_states set count_at = count_at - interval '2 s'");
    expect((await claim(you)).tasks).toEqual([]);
    // Two still run.
    await complete(you, first.tasks);
    expect((await claim(you)).tasks).toEqual([]);
  });

  test('counts what runs in parts, beside any number of waiting tasks, and starts nothing before', async () => {
    const me = await worker();
    await queue.admin.rows(
      `select count(*) from taskq.enqueue_many((
         select jsonb_agg(jsonb_build_object('type', 'work', 'payload', n, 'priority', n % 3))
         from generate_series(1, 12000) as n
       ))`,
    );
    // The last of them, in the order in which they are counted.
    const last = await queue.admin.rows<{ id: string }>(
      'select id from taskq.tasks order by priority desc, available_at desc, id desc limit 2',
    );
    for (const { id } of last) await me.session.rows('select from taskq.claim_one($1, $2, 30000)', me.id, id);
    await setQueue({ max_running: 3 });
    // As if the first claim had come no further than this.
    await queue.admin.rows(
      "update taskq.limit_states set held = '{}', counted_to = '{0}', count_at = clock_timestamp()",
    );
    const { tasks, about } = await untilOpen(me);
    expect(tasks).toHaveLength(1);
    expect(about.limited).toBeUndefined();
    expect(await queue.admin.value('select counted_to from taskq.limit_states')).toBeNull();
    expect((await claim(me)).about.limited).toEqual({ default: null });
  });

  test('counts tens of thousands of running tasks in no more time than it reads them', async () => {
    const me = await worker();
    await enqueueSome(queue.admin, 5000);
    for (let left = 5000; left > 0; left -= 1000) await claim(me, { start: 1000 });
    await setQueue({ max_running: 200_000 });
    const began = performance.now();
    // As if 100,000 others were counted before.
    const counted = await queue.admin.value<number>(
      `select cardinality(c.held)
       from taskq.standing_limits('{default}') as l
       cross join lateral taskq.count_running(
         jsonb_populate_record(l, jsonb_build_object(
           'held', array(select 1000000 + n from generate_series(1, 100000) as n)
         )),
         clock_timestamp()
       ) as c`,
    );
    expect(counted).toBe(105_000);
    expect(performance.now() - began).toBeLessThan(2000);
  });

  test('is not counted while a count is under way, and the claim comes again soon', async () => {
    await enqueueSome(queue.admin, 2);
    await setQueue({ max_running: 2 });
    const me = await worker();
    // A count stops after 50 ms: one of 300,000 tasks takes longer.
    await queue.admin.rows(
      `insert into taskq.tasks (type, priority, payload, available_at, not_before, created_at)
       select 'work', 0, '{}', now(), now(), now() from generate_series(1, 300000)`,
    );
    const first = await claim(me);
    expect(first.tasks).toEqual([]);
    expect(first.about.limited!.default! - first.about.looked_to_us).toBeLessThanOrEqual(5000);
    expect((await untilOpen(me)).tasks).toHaveLength(2);
  });

  test('sees what has ended in the claim that counts again', async () => {
    await setQueue({ max_running: 1 });
    await enqueueSome(queue.admin, 2);
    const me = await worker();
    await complete(me, (await claim(me)).tasks);
    await queue.admin.rows("update taskq.limit_states set count_at = clock_timestamp() - interval '1 s'");
    expect((await claim(me)).tasks).toHaveLength(1);
  });

  test('lowered lets those that run end; raised or removed starts more', async () => {
    await setQueue({ max_running: 3 });
    await enqueueSome(queue.admin, 8);
    const me = await worker();
    const { tasks } = await claim(me);
    expect(tasks).toHaveLength(3);
    await setQueue({ max_running: 2 });
    await complete(me, tasks.slice(0, 1));
    expect((await claim(me)).tasks).toEqual([]);
    await setQueue({ max_running: 4 });
    expect((await claim(me)).tasks).toHaveLength(2);
    await setQueue({ max_running: null });
    expect((await claim(me)).tasks).toHaveLength(3);
    expect((await claim(me)).about.limited).toBeUndefined();
  });

  const CHANGES: readonly object[] = [
    { max_running: 9 },
    { rate: '5/1s' },
    { max_running: null },
    { group_limit: 1 },
    { retention: '1d' },
  ];
  test.each(CHANGES)('%j in a transaction that stays open holds up no claim', async (settings) => {
    await setQueue({ max_running: 3 });
    await enqueueSome(queue.admin, 4);
    const [me, operator] = [await worker(), await queue.session()];
    expect((await claim(me, { start: 1 })).tasks).toHaveLength(1);
    await operator.rows('begin');
    await operator.rows("select taskq.set_queue('default', $1)", JSON.stringify(settings));
    expect((await claim(me)).tasks).toHaveLength(2);
    await operator.rows('rollback');
  });

  test('set again, in whatever way it was removed, counts what has started meanwhile', async () => {
    await enqueueSome(queue.admin, 9);
    const me = await worker();
    for (const without of [{ max_running: null }, { max_running: null, rate: '1000/1s', burst: 100 }]) {
      await setQueue({ max_running: 1, rate: null, burst: null });
      await claim(me);
      await setQueue(without);
      expect((await claim(me, { start: 3 })).tasks).toHaveLength(3);
      await setQueue({ max_running: 5, rate: null, burst: null });
      await claim(me);
      expect(
        await queue.admin.value('select count(*)::integer from taskq.tasks where lease_owner is not null'),
      ).toBeGreaterThanOrEqual(5);
      expect((await claim(me)).tasks).toEqual([]);
    }
  });

  // A queue is full for a second at most, so a claim has to come within that: not on a machine that stands still.
  test('of many, all running, is not looked through by each claim, and the claim comes again when one may', {
    retry: 2,
  }, async () => {
    await setQueue({ max_running: 150 });
    await enqueueSome(queue.admin, 160);
    const me = await worker();
    const { tasks } = await claim(me, { start: 150 });
    const { about } = await claim(me);
    const inMs = (about.limited!.default! - about.looked_to_us) / 1000;
    expect(inMs).toBeGreaterThan(0);
    expect(inMs).toBeLessThanOrEqual(1000);

    const pause = (time: string) =>
      queue.admin.rows(`update taskq.limit_states set look_at = clock_timestamp() + interval '${time}'`);
    await complete(me, tasks.slice(0, 7));
    await pause('900 ms');
    expect(await claim(me)).toMatchObject({ tasks: [], about: { limited: { default: expect.any(Number) } } });
    const due = await me.session.value<number>(
      "select due_ms from taskq.mark_idle($1, '{default}', 5000)",
      me.id,
    );
    expect(due).toBeLessThanOrEqual(900);
    await pause('0');
    expect((await claim(me)).tasks).toHaveLength(7);
  });

  test('does not stay full for longer than a second when the clock is set back', async () => {
    await setQueue({ max_running: 150 });
    await enqueueSome(queue.admin, 160);
    const me = await worker();
    const { tasks } = await claim(me, { start: 150 });
    await claim(me);
    await queue.admin.rows("update taskq.limit_states set look_at = clock_timestamp() + interval '1 hour'");
    await complete(me, tasks.slice(0, 1));
    expect((await claim(me)).tasks).toHaveLength(1);
  });

  test('a task that waits again after an attempt takes one place, not two', async () => {
    await setQueue({ max_running: 2 });
    const [id] = await enqueueSome(queue.admin, 3);
    const me = await worker();
    const first = await claim(me, { start: 1 });
    await me.settle(outcome(first.tasks[0]!, 'failed', { delay_ms: 0 }));
    await makeDue(queue.admin, [id!]);
    expect((await claim(me)).tasks).toHaveLength(2);
  });

  test('a claim that another one has the limit of leaves the queue out, and comes again soon', async () => {
    await setQueue({ max_running: 3 });
    await enqueueSome(queue.admin, 2);
    const other = await enqueue(queue.admin, { queue: 'mail' });
    const [me, you] = [await worker(), await worker()];
    await me.session.rows('begin');
    expect((await claim(me, { start: 1 })).tasks).toHaveLength(1);
    const { tasks, about } = await claim(you, { queues: ['default', 'mail'] });
    expect(tasks.map(({ id }) => id)).toEqual([other]);
    expect(about).toMatchObject({ queues: ['mail'], levels: 10 });
    // In both times, the claim's one reading of the clock.
    expect(about.limited!.default! - about.looked_to_us).toBe(5000);
    await me.session.rows('rollback');
    expect((await claim(you)).tasks).toHaveLength(2);
  });

  test('that a claim left open has are no more than it has tasks for: others go on with the other queues', async () => {
    const queues = ['a', 'b', 'c', 'd'];
    for (const name of queues) {
      await setQueue({ max_running: 2 }, name);
      for (let n = 0; n < 3; n++) await enqueue(queue.admin, { queue: name });
    }
    const [me, you] = [await worker(), await worker()];
    await me.session.rows('begin');
    const mine = await claim(me, { queues, start: 2 });
    expect(mine.tasks.map((task) => task.queue)).toEqual(['a', 'a']);
    const yours = await claim(you, { queues, start: 10 });
    expect(yours.tasks.map((task) => task.queue).sort()).toEqual(['b', 'b', 'c', 'c', 'd', 'd']);
    await me.session.rows('commit');
    expect((await claim(you, { queues })).tasks).toEqual([]);
  });

  test('are taken by urgency first, and what a claim did not look at is not passed', async () => {
    for (const name of ['a', 'b', 'c']) await setQueue({ max_running: 5 }, name);
    await enqueue(queue.admin, { queue: 'a', priority: 7 });
    await enqueue(queue.admin, { queue: 'b', priority: 3 });
    await enqueue(queue.admin, { queue: 'c', priority: 5 });
    const me = await worker();
    const { tasks, about } = await claim(me, { queues: ['a', 'b', 'c'], start: 1 });
    expect(tasks.map((task) => task.queue)).toEqual(['b']);
    expect(about).toMatchObject({ queues: ['a', 'b', 'c'], levels: 10 });
    expect(about.limited).toMatchObject({ a: expect.any(Number), c: expect.any(Number) });
    const rest = await claim(me, { queues: ['a', 'b', 'c'] });
    expect(rest.tasks.map((task) => task.queue).sort()).toEqual(['a', 'c']);
    expect(rest.about).toMatchObject({ queues: ['a', 'b', 'c'], levels: 30 });
  });

  test('of a queue whose groups ask again and again leave the slot of a claim to the task of another queue', async () => {
    await setQueue({ max_running: 9, group_limit: 1 }, 'asking');
    await setQueue({ max_running: 9 }, 'other');
    const [me, you] = [await worker(), await worker()];
    const ask = () => enqueue(queue.admin, { queue: 'asking', group: 'a' });
    await ask();
    expect((await claim(you, { queues: ['asking'] })).tasks).toHaveLength(1);
    await enqueueSome(queue.admin, 2, { queue: 'other' });
    for (const queues of [
      ['asking', 'other'],
      ['other', 'asking'],
    ]) {
      await ask();
      expect((await claim(me, { queues, start: 1 })).tasks).toMatchObject([{ queue: 'other' }]);
    }
  });

  test('beside tasks of another type are not held for them: a queue without a due task is not taken', async () => {
    for (const name of ['a', 'b']) await setQueue({ max_running: 1 }, name);
    const other = await enqueue(queue.admin, { queue: 'a' });
    await queue.admin.rows("update taskq.tasks set type = 'other' where id = $1", other);
    await enqueue(queue.admin, { queue: 'b' });
    const [me, you] = [await worker(), await worker()];
    await me.session.rows('begin');
    expect((await claim(me, { queues: ['a', 'b'] })).tasks.map((task) => task.queue)).toEqual(['b']);
    await enqueue(queue.admin, { queue: 'a' });
    expect((await claim(you, { queues: ['a', 'b'] })).tasks.map((task) => task.queue)).toEqual(['a']);
    await me.session.rows('commit');
  });

  test('of several queues hold side by side, and take nothing from a queue without', async () => {
    await setQueue({ max_running: 1 }, 'a');
    await setQueue({ max_running: 2 }, 'b');
    for (const name of ['a', 'b', 'c'])
      for (let n = 0; n < 3; n++) await enqueue(queue.admin, { queue: name });
    const me = await worker();
    const { tasks } = await claim(me, { queues: ['a', 'b', 'c'], start: 10 });
    expect(tasks.map((task) => task.queue).sort()).toEqual(['a', 'b', 'b', 'c', 'c', 'c']);
  });

  test('does not hide what comes after it in the same claim', async () => {
    await setQueue({ max_running: 1 }, 'a');
    for (let n = 0; n < 5; n++) await enqueue(queue.admin, { queue: 'a', priority: n });
    await enqueue(queue.admin, { queue: 'b', priority: 9 });
    const me = await worker();
    const first = await claim(me, { queues: ['a', 'b'], start: 2 });
    const second = await claim(me, { queues: ['a', 'b'], start: 2 });
    expect([...first.tasks, ...second.tasks].map((task) => task.queue)).toEqual(['a', 'b']);
    expect(second.about).toMatchObject({ queues: ['b'], levels: 10 });
  });

  test('tasks are not claimed ahead, and a worker learns that one wants a slot', async () => {
    await setQueue({ max_running: 5 }, 'a');
    await enqueue(queue.admin, { queue: 'a' });
    await enqueue(queue.admin, { queue: 'b', priority: 5 });
    const me = await worker();
    const ahead = await claim(me, { queues: ['a', 'b'], start: 0, ahead: 5 });
    expect(ahead.tasks.map((task) => task.queue)).toEqual(['b']);
    expect(ahead.about).toMatchObject({ wants_slot: true, levels: 4 });
    const { tasks, about } = await claim(me, { queues: ['a', 'b'], start: 1, ahead: 4 });
    expect(tasks).toMatchObject([{ queue: 'a', running: true }]);
    expect(about.wants_slot).toBeUndefined();
  });

  test('a level of which a task was left out, out of its turn, is not passed', async () => {
    await setQueue({ max_running: 2, group_limit: 1, group_order: 'strict' }, 'a');
    const me = await worker();
    // Its group waits for one that comes first, and the application refuses that it gives its slot back.
    const later = await enqueue(queue.admin, { queue: 'a', group: 'g' });
    await queue.admin.rows("select from taskq.claim($1, '{a}', '{none}', 1, 0, 30000)", me.id);
    await enqueue(queue.admin, { queue: 'a', group: 'g', priority: 1 });
    await refuseChanges(queue.admin, 'create trigger', `new.id = ${later} and new.gate = 'w'`);
    const next = await enqueue(queue.admin, { queue: 'a' });
    await enqueue(queue.admin, { queue: 'a' });
    await enqueue(queue.admin, { queue: 'b', priority: 5 });
    const { tasks, about } = await claim(me, { queues: ['a', 'b'] });
    expect(tasks.filter((task) => task.queue === 'a')).toMatchObject([{ id: next }]);
    expect(about.levels).toBeLessThanOrEqual(4);
  });

  test('a full queue is not gone back to, and the sweep says so', async () => {
    await setQueue({ max_running: 1 });
    await enqueueSome(queue.admin, 2);
    const me = await worker();
    await claim(me);
    const missed = () =>
      queue.admin.rows(
        "select extra from taskq.find_missed('{default}', '{work}') where queue is not null and priority < 10",
      );
    expect(await missed()).toEqual([{ extra: { limited: true } }]);
  });

  test('a claim for one task by its id passes the limit, which counts it', async () => {
    await setQueue({ max_running: 1 });
    const [, second] = await enqueueSome(queue.admin, 3);
    const me = await worker();
    await claim(me);
    const one = await me.session.rows('select * from taskq.claim_one($1, $2, 30000)', me.id, second);
    expect(one).toHaveLength(1);
    expect(await queue.admin.value('select cardinality(held) from taskq.limit_states')).toBe(2);
  });

  test('tasks that the database refuses to lease take no place', async () => {
    await setQueue({ max_running: 2 });
    const ids = await enqueueSome(queue.admin, 4);
    await refuseChanges(queue.admin, 'create trigger', `new.id = ${ids[0]}`);
    const me = await worker();
    const rows = await me.session.rows<Claimed>(
      `select * from taskq.claim($1, '{default}', '{work}', 10, 0, ${LEASE_MS}, null, null, '{"one_by_one": true}')`,
      me.id,
    );
    expect(rows.map(({ id }) => id).sort()).toEqual(ids.slice(1, 3));
    expect(await queue.admin.value('select held from taskq.limit_states')).toEqual(ids.slice(1, 3));
  });
});

describe('a rate', () => {
  test('whose burst is tens of thousands of years of it stops no claim, and other queues continue', async () => {
    await setQueue({ rate: '1/30d', burst: 100_000 }, 'slow');
    const slow = await enqueueSome(queue.admin, 2, { queue: 'slow' });
    const me = await worker();
    expect((await claim(me, { queues: ['slow'], start: 1 })).tasks).toMatchObject([{ id: slow[0] }]);
    const other = await enqueue(queue.admin);
    expect((await claim(me, { queues: ['default', 'slow'], start: 1 })).tasks).toMatchObject([{ id: other }]);
    await queue.admin.rows("select taskq.mark_idle($1, null, 1000, '{work}')", me.id);
    expect(await queue.admin.value("select taskq.explain($1) ->> 'status'", slow[1])).toBe('pending');
  });

  test('is not forgotten by a claim that began before the one that used it up', async () => {
    await setQueue({ rate: '1/1m', burst: 2 });
    await enqueueSome(queue.admin, 3);
    const me = await worker();
    expect((await claim(me)).tasks).toHaveLength(2);
    const usedTo = () => queue.admin.value('select used_to::text from taskq.limit_states');
    const before = await usedTo();
    const late = `select (t.limits[1]).used_to::text
      from (
          select clock_timestamp() - interval '5 s' as began, array_agg(l.queue) as queues,
            array_agg(l.priority) as priorities, array_agg(l.after_at) as times, array_agg(l.after_id) as ids
          from clock_timestamp() as now, taskq.open_levels($1, '{default}', null, now, now) as l
        ) as level,
        taskq.take_limits(
          level.queues, level.priorities, level.times, level.ids, '{work}', null, 1, 1, true, level.began
        ) as t`;
    expect(await queue.admin.value(late, me.id)).toBe(before);
  });

  /** As if this much time had passed since the last start. */
  const pass = (ms: number) =>
    queue.admin.rows("update taskq.limit_states set used_to = used_to - $1 * interval '1 ms'", ms);

  test('starts as many as its burst at once, and then one whenever the next may start', async () => {
    await setQueue({ rate: '60/1h', burst: 3 });
    await enqueueSome(queue.admin, 10);
    const me = await worker();
    expect((await claim(me)).tasks).toHaveLength(3);
    const { tasks, about } = await claim(me);
    expect(tasks).toEqual([]);
    const inMs = (about.limited!.default! - about.looked_to_us) / 1000;
    expect(inMs).toBeGreaterThan(30_000);
    expect(inMs).toBeLessThanOrEqual(60_000);
    await pass(60_000);
    expect((await claim(me)).tasks).toHaveLength(1);
    await pass(150_000);
    expect((await claim(me)).tasks).toHaveLength(2);
    await pass(3_600_000);
    expect((await claim(me)).tasks).toHaveLength(3);
  });

  test('without a max_running remembers no task: its state does not grow with what has started', async () => {
    await setQueue({ rate: '1000/1s' });
    await enqueueSome(queue.admin, 6);
    const me = await worker();
    for (let started = 0; started < 6; started += 2)
      await complete(me, (await claim(me, { start: 2 })).tasks);
    expect(await queue.admin.rows('select held from taskq.limit_states')).toEqual([{ held: null }]);
  });

  test('is used up by the claim: an outcome gives nothing back', async () => {
    await setQueue({ rate: '1/1h' });
    await enqueueSome(queue.admin, 2);
    const me = await worker();
    await complete(me, (await claim(me)).tasks);
    expect((await claim(me)).tasks).toEqual([]);
  });

  test('holds together with max_running', async () => {
    await setQueue({ rate: '1000/1s', burst: 5, max_running: 2 });
    await enqueueSome(queue.admin, 10);
    const me = await worker();
    expect((await claim(me)).tasks).toHaveLength(2);
    expect((await claim(me)).about.limited).toEqual({ default: null });
  });

  test('an idle worker learns when the next task may start', async () => {
    await setQueue({ rate: '1/1m' });
    await enqueueSome(queue.admin, 2);
    const me = await worker();
    await claim(me);
    const due = await me.session.value<number>(
      "select due_ms from taskq.mark_idle($1, '{default}', 1000)",
      me.id,
    );
    expect(due).toBeGreaterThan(30_000);
    expect(due).toBeLessThanOrEqual(60_000);
  });

  test('that is changed applies at once, however long the old one had to wait', async () => {
    await setQueue({ rate: '1/1d' });
    await enqueueSome(queue.admin, 3);
    const me = await worker();
    await claim(me);
    await setQueue({ rate: '60/1h', burst: 1 });
    const { about } = await claim(me);
    expect((about.limited!.default! - about.looked_to_us) / 1000).toBeLessThanOrEqual(60_000);
    await setQueue({ rate: null, burst: null });
    expect((await claim(me)).tasks).toHaveLength(2);
  });

  test('without a burst allows what starts in a tenth of a second', async () => {
    for (const [rate, burst] of [
      ['5/1s', 1],
      ['100/1s', 10],
      ['1/1d', 1],
    ] as const) {
      await setQueue({ rate });
      expect(await queue.admin.value('select burst from taskq.queue_limits')).toBe(burst);
    }
  });
});

describe('refuses', () => {
  const CASES: readonly (readonly [object, string])[] = [
    [{ max_running: 0 }, 'set_queue: max_running 0: expected a whole number from 1 to 2147483647'],
    [{ max_running: 1.5 }, 'set_queue: max_running 1.5: expected a whole number from 1 to 2147483647'],
    [
      { rate: 'fast' },
      'set_queue: rate "fast": expected n/duration such as 100/1m: n 1 to 1000000, duration 1ms to 366d',
    ],
    [
      { rate: '0/1m' },
      'set_queue: rate "0/1m": expected n/duration such as 100/1m: n 1 to 1000000, duration 1ms to 366d',
    ],
    [
      { rate: '5/400d' },
      'set_queue: rate "5/400d": expected n/duration such as 100/1m: n 1 to 1000000, duration 1ms to 366d',
    ],
    [{ rate: '5/1m', burst: 0 }, 'set_queue: burst 0: expected a whole number from 1 to 100000'],
    [{ burst: 3 }, 'set_queue: burst 3 needs a rate'],
    [{ burst: 3, rate: null }, 'set_queue: burst 3 needs a rate'],
  ];
  test.each(CASES)('%j, in one line', async (settings, message) => {
    await expect(setQueue(settings)).rejects.toMatchObject({ code: '22023', message });
    expect(await queue.admin.rows('select * from taskq.queue_limits')).toEqual([]);
  });
});

test('list_queues shows the limits of a queue', async () => {
  await setQueue({ max_running: 4, rate: '100/1m', burst: 20 });
  expect(await queue.admin.rows('select name, max_running, rate, burst from taskq.list_queues()')).toEqual([
    { name: 'default', max_running: 4, rate: '100/1m', burst: 20 },
  ]);
});
