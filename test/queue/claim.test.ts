import { describe, expect, test } from 'vitest';
import { claim } from '../../src/queue/protocol/claim.ts';
import { enqueue, enqueueSome, lapse, liveRow, makeDue, type Row, refuseChanges, rescueAll } from './rows.ts';
import { useDatabase } from './session.ts';
import { patiently, waitUntilBlocked } from './waiting.ts';
import {
  byUrgency,
  type Claimed,
  type ClaimOptions,
  claimOne,
  LEASE_MS,
  outcome,
  type PlainWorker,
  registerWorker,
} from './worker.ts';

const queue = useDatabase();

/** A cursor for the queue `default` that stands at this task. */
function cursorAt(task: Claimed): (number | null)[] {
  const cursor = new Array<number | null>(22).fill(null);
  cursor[2 * task.priority] = Number(task.available_at_us);
  cursor[2 * task.priority + 1] = Number(task.id);
  return cursor;
}

describe('what is claimed', () => {
  test('a claimed task is running under a new lease of its worker', async () => {
    const id = await enqueue(queue.admin, { timeout_ms: 5000 }, { a: 1 });
    const worker = await registerWorker(queue.admin);
    const claimed = await worker.claim();
    expect(claimed).toMatchObject([
      {
        id,
        queue: 'default',
        type: 'work',
        priority: 2,
        attempts: 0,
        losses: 0,
        timeout_ms: '5000',
        payload: { a: 1 },
        running: true,
      },
    ]);
    const row = await liveRow(queue.admin, id);
    expect(row).toMatchObject({ status: 'running', lease_owner: worker.id, lease_no: claimed[0]!.lease_no });
    const exact = `select lease_expires_at - started_at = $1 * interval '1 ms' and started_at >= available_at from taskq.tasks`;
    expect(await queue.admin.value(exact, LEASE_MS)).toBe(true);
  });

  test('the most urgent claimed tasks, up to the free slots, are running and the rest are leased', async () => {
    const ids = await enqueueSome(queue.admin, 7);
    const worker = await registerWorker(queue.admin);
    const claimed = await worker.claim({ start: 2, ahead: 3 });
    expect(claimed.map((task) => [task.id, task.running])).toEqual(
      ids.slice(0, 5).map((id, place) => [id, place < 2]),
    );
    expect(await liveRow(queue.admin, ids[1]!)).toMatchObject({ status: 'running' });
    expect(await liveRow(queue.admin, ids[2]!)).toMatchObject({
      status: 'leased',
      started_at: null,
      lease_owner: worker.id,
    });
    expect(await liveRow(queue.admin, ids[5]!)).toMatchObject({ status: 'pending', lease_no: 0 });
  });

  test('a claim ahead alone starts nothing', async () => {
    await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    expect(await worker.claim({ start: 0, ahead: 1 })).toMatchObject([{ running: false }]);
  });

  test('a claim of nothing takes nothing', async () => {
    await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    expect(await worker.claim({ start: 0 })).toEqual([]);
  });

  test('types that the worker does not handle stay where they are', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    expect(await worker.claim({ types: ['other'] })).toEqual([]);
    expect(await liveRow(queue.admin, id)).toMatchObject({ status: 'pending', attempts: 0, lease_no: 0 });
  });

  test('delayed tasks wait until they are due', async () => {
    const id = await enqueue(queue.admin, { delay_ms: 60_000 });
    const worker = await registerWorker(queue.admin);
    expect(await worker.claim()).toEqual([]);
    await makeDue(queue.admin, [id]);
    expect(await worker.claim()).toMatchObject([{ id }]);
  });

  test('blocked tasks are never due', async () => {
    const id = await enqueue(queue.admin);
    await queue.admin.rows(
      "update taskq.tasks set status = 'blocked', available_at = 'infinity' where id = $1",
      id,
    );
    const worker = await registerWorker(queue.admin);
    expect(await worker.claim({ start: 5 })).toEqual([]);
  });

  test('a task that expired before it ever started is not claimed; one that has started is', async () => {
    const [expired, started, later] = await enqueueSome(queue.admin, 3, { expires_ms: 60_000 });
    const expire =
      "update taskq.tasks set expires_at = clock_timestamp() - interval '1 ms' where id = any ($1)";
    await queue.admin.rows(expire, [expired, started]);
    await queue.admin.rows('update taskq.tasks set started_at = created_at where id = $1', started);
    const worker = await registerWorker(queue.admin);
    expect((await worker.claim({ start: 5 })).map((task) => task.id)).toEqual([started, later]);
  });

  test('a task whose worker was lost is only leased until it starts', async () => {
    const ids = await enqueueSome(queue.admin, 3);
    await queue.admin.rows(
      'update taskq.tasks set losses = id - $1 where id = any ($2)',
      Number(ids[0]),
      ids,
    );
    const worker = await registerWorker(queue.admin);
    const claimed = await worker.claim({ start: 3 });
    expect(claimed.map((task) => [task.losses, task.running])).toEqual([
      [0, true],
      [1, false],
      [2, false],
    ]);
    expect(await liveRow(queue.admin, ids[2]!)).toMatchObject({ status: 'leased', started_at: null });
  });

  test('no claim gives a number that another one gave, to this task or to another one of its id', async () => {
    const worker = await registerWorker(queue.admin);
    const given: number[] = [];
    for (let round = 0; round < 50; round++) {
      const id = await enqueue(queue.admin);
      await queue.admin.rows('update taskq.tasks set id = 1 where id = $1', id);
      const first = await claimOne(worker);
      await worker.giveBack([first], false);
      const second = await claimOne(worker);
      given.push(first.lease_no, second.lease_no);
      await queue.admin.rows('delete from taskq.tasks');
    }
    expect(new Set(given).size).toBe(given.length);
    expect(Math.min(...given)).toBeGreaterThan(0);
  });

  test.each([-2147483648, -1, 0, 1, 2147483646, 2147483647])(
    'a lease number of %i, put in by hand, is followed by another one',
    async (leaseNo) => {
      const id = await enqueue(queue.admin);
      await queue.admin.rows('update taskq.tasks set lease_no = $1', leaseNo);
      const task = await claimOne(await registerWorker(queue.admin));
      expect(task).toMatchObject({ id });
      expect(task.lease_no).not.toBe(leaseNo);
    },
  );

  test('a paused queue gives nothing until it is resumed or its pause ends', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    await queue.admin.rows("select taskq.pause_queue('default', _ms => 60000)");
    expect(await worker.claim()).toEqual([]);
    await queue.admin.rows('update taskq.queues set paused_until = clock_timestamp()');
    expect(await worker.claim()).toMatchObject([{ id }]);
  });
});

describe('the order', () => {
  test('is by priority, then the queues as given, then by the time, then by the id', async () => {
    const expected: string[] = [];
    const make = async (queueName: string, priority: number, secondsAgo: number) => {
      const id = await enqueue(queue.admin, { queue: queueName, priority });
      await queue.admin.rows(
        "update taskq.tasks set available_at = timestamptz '2020-01-01T00:00:00Z' - $2 * interval '1 s' where id = $1",
        id,
        secondsAgo,
      );
      return id;
    };
    const b3 = await make('b', 3, 50);
    const a3 = await make('a', 3, 10);
    const b0 = await make('b', 0, 10);
    const a0late = await make('a', 0, 5);
    const a0first = await make('a', 0, 9);
    const a0second = await make('a', 0, 9);
    const a9 = await make('a', 9, 99);
    expected.push(b0, a0first, a0second, a0late, b3, a3, a9);
    const worker = await registerWorker(queue.admin);
    const claimed: string[] = [];
    for (let turn = 0; turn < expected.length; turn++) {
      claimed.push((await claimOne(worker, { queues: ['b', 'a'] })).id);
    }
    expect(claimed).toEqual(expected);
  });

  test('of one claim holds across its border between running and leased', async () => {
    const ids = await enqueueSome(queue.admin, 40);
    await queue.admin.rows(
      "update taskq.tasks set priority = (id * 7) % 10, available_at = created_at - ((id * 13) % 5) * interval '1 s'",
    );
    const worker = await registerWorker(queue.admin);
    const claimed = (await worker.claim({ start: 10, ahead: 20 })).sort(byUrgency);
    expect(claimed.map((task) => task.running)).toEqual(Array.from({ length: 30 }, (_, n) => n < 10));
    const rest = (await worker.claim({ start: 40 })).sort(byUrgency);
    expect(byUrgency(claimed.at(-1)!, rest[0]!)).toBeLessThan(0);
    expect([...claimed, ...rest].map((task) => task.id).sort()).toEqual(ids.toSorted());
  });

  test('comes out of the library sorted, most urgent first', async () => {
    const ids = await enqueueSome(queue.admin, 20);
    await queue.admin.rows('update taskq.tasks set priority = (id * 7) % 10');
    const worker = await registerWorker(queue.admin);
    const { tasks, looked } = await claim(queue.admin, {
      worker: { id: worker.id, types: ['work'], leaseMs: LEASE_MS },
      queues: ['default'],
      room: { start: 20, ahead: 0 },
      from: { cursor: null, lookBackMs: null },
    });
    expect(tasks).toHaveLength(ids.length);
    const keys = tasks.map((task) => [task.priority, task.availableAtUs, Number(task.id)] as const);
    expect(keys).toEqual(keys.toSorted((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]));
    // What filled the claim may be followed by more of its level.
    expect(looked).toMatchObject({ queues: ['default'], levels: 9 });
  });
});

describe('the cursor', () => {
  test('a claim takes only what lies behind its cursor, to the microsecond', async () => {
    const ids = await enqueueSome(queue.admin, 4);
    await queue.admin.rows(
      "update taskq.tasks set available_at = timestamptz '2020-01-01T00:00:00.000001Z' + (id - $1) / 2 * interval '1 us'",
      Number(ids[0]),
    );
    const worker = await registerWorker(queue.admin);
    const [first, second] = await worker.claim({ start: 2 });
    await worker.giveBack([first!, second!], false);
    expect((await worker.claim({ start: 9, cursor: cursorAt(first!) })).map((task) => task.id)).toEqual(
      ids.slice(1),
    );
  });

  test('of a level says nothing of other levels and queues', async () => {
    await enqueueSome(queue.admin, 2);
    const worker = await registerWorker(queue.admin);
    const [first, second] = await worker.claim({ start: 2 });
    await worker.giveBack([first!, second!], false);
    const urgent = await enqueue(queue.admin, { priority: 1, at: '2000-01-01T00:00:00Z' });
    const other = await enqueue(queue.admin, { queue: 'other' });
    const cursor = [...new Array<null>(22).fill(null), ...cursorAt(second!)];
    const claimed = await worker.claim({ start: 9, queues: ['other', 'default'], cursor });
    expect(claimed.map((task) => task.id)).toEqual([urgent, other]);
  });

  test('without one a claim sweeps every level from its beginning', async () => {
    const ids = await enqueueSome(queue.admin, 3);
    const worker = await registerWorker(queue.admin);
    const claimed = await worker.claim({ start: 3 });
    await worker.giveBack(claimed, false);
    expect(await worker.claim({ start: 3, cursor: cursorAt(claimed[2]!) })).toEqual([]);
    expect((await worker.claim({ start: 3 })).map((task) => task.id)).toEqual(ids);
  });

  test('a look back finds what was committed late, but not what lies further back', async () => {
    const ids = await enqueueSome(queue.admin, 3);
    const age = "update taskq.tasks set available_at = clock_timestamp() - $2 * interval '1 s' where id = $1";
    await queue.admin.rows(age, ids[0], 3600);
    await queue.admin.rows(age, ids[1], 10);
    const worker = await registerWorker(queue.admin);
    const claimed = await worker.claim({ start: 3 });
    await worker.giveBack(claimed, false);
    const cursor = cursorAt(claimed[2]!);
    expect(await worker.claim({ start: 3, cursor })).toEqual([]);
    expect((await worker.claim({ start: 3, cursor, lookBackMs: 600_000 })).map((task) => task.id)).toEqual(
      ids.slice(1),
    );
  });

  test('a look back does not jump over what lies between an older cursor and itself', async () => {
    const ids = await enqueueSome(queue.admin, 2);
    await queue.admin.rows(
      "update taskq.tasks set available_at = clock_timestamp() - interval '1 h' + (id - $1) * interval '1 min'",
      Number(ids[0]),
    );
    const worker = await registerWorker(queue.admin);
    const first = await claimOne(worker);
    expect(await worker.claim({ start: 2, cursor: cursorAt(first), lookBackMs: 2000 })).toMatchObject([
      { id: ids[1] },
    ]);
  });

  test('a task enqueued in a transaction that commits after the cursor has passed is found by looking back', async () => {
    const producer = await queue.session();
    await producer.rows('begin');
    const late = await enqueue(producer);
    await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const cursor = cursorAt(await claimOne(worker));
    await producer.rows('commit');
    expect(await worker.claim({ cursor })).toEqual([]);
    expect(await worker.claim({ cursor, lookBackMs: 600_000 })).toMatchObject([{ id: late }]);
  });
});

/** Until all is recorded: another claim, begun just before ours, may have a row of ours locked for a moment. */
async function completeAll(worker: PlainWorker, tasks: readonly Claimed[]): Promise<void> {
  const answers = await worker.settle(...tasks.map((task) => outcome(task, 'completed')));
  const busy = new Set(answers.filter((answer) => answer.answer === 'busy').map((answer) => answer.id));
  expect(answers.filter((answer) => answer.answer === 'recorded')).toHaveLength(tasks.length - busy.size);
  if (busy.size > 0)
    await completeAll(
      worker,
      tasks.filter((task) => busy.has(task.id)),
    );
}

describe.each(['skip-locked', 'optimistic'] as const)('beside others, %s', (form) => {
  test('rows that another session has locked are skipped', async () => {
    const ids = await enqueueSome(queue.admin, 3);
    const other = await queue.session();
    await other.rows('begin');
    await other.rows("update taskq.tasks set tags = '{}' where id = $1", ids[0]);
    const worker = await registerWorker(queue.admin);
    expect((await worker.claim({ form, start: 3 })).map((task) => task.id)).toEqual(ids.slice(1));
    await other.rows('commit');
    expect(await worker.claim({ form, start: 3 })).toMatchObject([{ id: ids[0] }]);
  });

  test('an edit of a waiting task reaches the worker that claims it after', async () => {
    const id = await enqueue(queue.admin, {}, { version: 1 });
    const other = await queue.session();
    const worker = await registerWorker(queue.admin);
    await other.rows('begin');
    await other.rows('update taskq.tasks set payload = \'{"version": 2}\' where id = $1', id);
    expect(await worker.claim({ form })).toEqual([]);
    await other.rows('commit');
    expect(await worker.claim({ form })).toMatchObject([{ id, payload: { version: 2 } }]);
  });

  test('eight workers that claim 4,000 tasks at once, some of which are rescued meanwhile, never hold one under one lease twice', async () => {
    const count = 4000;
    await enqueueSome(queue.admin, count);
    const leases: string[] = [];
    const drain = async (options: ClaimOptions) => {
      const worker = await registerWorker(await queue.session());
      for (let empty = 0; empty < 2; ) {
        const claimed = await worker.claim({ form, ...options });
        empty = claimed.length === 0 ? empty + 1 : 0;
        leases.push(...claimed.map((task) => `${task.id}/${task.lease_no}`));
        const [lost, ...kept] = claimed;
        if (lost !== undefined && lost.losses < 2) {
          await lapse(worker.session, [lost.id]);
          // Again where another claim, begun just before, has the row locked for a moment.
          while ((await liveRow(worker.session, lost.id))?.lease_no === lost.lease_no)
            await rescueAll(worker.session, worker.id);
        } else if (lost !== undefined) kept.push(lost);
        await completeAll(worker, kept);
      }
    };
    await Promise.all([1, 7, 20, 20, 50, 50, 3, 100].map((start) => drain({ start })));
    expect(new Set(leases).size).toBe(leases.length);
    expect(new Set(leases.map((lease) => lease.split('/')[0])).size).toBe(count);
    const left = await queue.admin.rows<Row>('select id, status, lease_owner from taskq.tasks');
    expect(left).toEqual([]);
    expect(await queue.admin.value('select count(*)::int from taskq.finished_tasks')).toBe(count);
  });
});

describe('an optimistic claim', () => {
  test('has committed before its second statement reads what is still under its leases', async () => {
    const ids = await enqueueSome(queue.admin, 3);
    const worker = await registerWorker(await queue.session());
    const taken = await worker.session.rows<Claimed>(
      `select id, lease_no from taskq.claim_optimistic($1, '{default}', '{work}', 2, 1, 30000)`,
      worker.id,
    );
    const seen = 'select id, status::text from taskq.tasks where lease_owner = $1 order by id';
    expect(await queue.admin.rows(seen, worker.id)).toEqual([
      { id: ids[0], status: 'running' },
      { id: ids[1], status: 'running' },
      { id: ids[2], status: 'leased' },
    ]);
    await lapse(queue.admin, [ids[0]!]);
    await rescueAll(queue.admin, worker.id);
    const read = await (await queue.session()).rows<Claimed>(
      'select * from taskq.get_claimed($1, $2, $3) order by id',
      worker.id,
      taken.map(({ id }) => id),
      taken.map(({ lease_no }) => lease_no),
    );
    expect(read).toMatchObject([
      { id: ids[1], payload: { n: 1 }, running: true },
      { id: ids[2], payload: { n: 2 }, running: false },
    ]);
  });

  test('keeps the order of priorities, whatever the ids, and does not count a level as read whose rows it did not get', async () => {
    const low = await enqueueSome(queue.admin, 3, { priority: 5 });
    const [high] = await enqueueSome(queue.admin, 1, { priority: 1 });
    const other = await queue.session();
    await other.rows('begin');
    await other.rows("update taskq.tasks set tags = '{}' where id = $1", low[0]);
    const worker = await registerWorker(queue.admin);
    const rows = await queue.admin.rows<{ id: string | null; extra: { levels: number } | null }>(
      `select id, extra from taskq.claim_optimistic($1, '{default}', '{work}', 1, 2, 30000, null, null, '{"looked": true}')`,
      worker.id,
    );
    expect(rows.slice(0, -1).map(({ id }) => id)).toEqual([high, low[1]]);
    expect(rows.at(-1)!.extra).toMatchObject({ levels: 5 });
    expect(await queue.admin.value('select status::text from taskq.tasks where id = $1', high)).toBe(
      'running',
    );
  });

  test.each([1, 10])(
    'of %d passes many rows that somebody keeps locked, in the order of the others',
    async (start) => {
      const ids = await enqueueSome(queue.admin, 150);
      const other = await queue.session();
      await other.rows('begin');
      await other.rows('select from taskq.tasks order by id limit 120 for update');
      const worker = await registerWorker(queue.admin);
      for (const from of [120, 120 + start]) {
        const claimed = await worker.claim({ form: 'optimistic', start });
        expect(claimed.map(({ id }) => id)).toEqual(ids.slice(from, from + start));
      }
    },
  );

  test('counts in limits, and starts the tasks of a group in turn', async () => {
    await queue.admin.rows(`select taskq.set_queue('default', '{"group_limit": 1, "max_running": 2}')`);
    for (const group of ['a', 'a', 'b', 'b', 'c']) await enqueue(queue.admin, { group });
    const workers = await Promise.all([1, 2, 3].map(async () => registerWorker(await queue.session())));
    const claimed = (
      await Promise.all(workers.map((worker) => worker.claim({ form: 'optimistic', start: 5 })))
    ).flat() as (Claimed & { group_key: string })[];
    expect(claimed.length).toBeLessThanOrEqual(2);
    expect(new Set(claimed.map((task) => task.group_key)).size).toBe(claimed.length);
  });
});

describe('claims of many', () => {
  // The other form waits for rows that are being taken, and leaves them out.
  const form = 'skip-locked';
  const MANY = { start: 0, ahead: 50, form } as const;

  test('take turns, so that none reads what another is about to hold', async () => {
    const ids = await enqueueSome(queue.admin, 120);
    const [first, second] = [await queue.session(), await queue.session()];
    await first.rows('begin');
    expect(await (await registerWorker(first)).claim(MANY)).toHaveLength(50);
    const claiming = (await registerWorker(second)).claim(MANY);
    await waitUntilBlocked(queue.admin);
    await first.rows('commit');
    expect((await claiming).map(({ id }) => id)).toEqual(ids.slice(50, 100));
  });

  test('do not wait for one whose transaction stays open longer than a second, and smaller ones for none', async () => {
    const ids = await enqueueSome(queue.admin, 120);
    const [first, second] = [await queue.session(), await queue.session()];
    await first.rows('begin');
    expect(await (await registerWorker(first)).claim(MANY)).toHaveLength(50);
    const worker = await registerWorker(second);
    // One that waits for a lock that long fails.
    await second.rows("set statement_timeout = '20s'");
    const small = await patiently(queue.admin, ['claim'], () => worker.claim({ ahead: 48, form }));
    expect(small.map(({ id }) => id)).toEqual(ids.slice(50, 99));
    expect((await worker.claim(MANY)).map(({ id }) => id)).toEqual(ids.slice(99));
    await first.rows('commit');
  });
});

describe('one by one, a row that a trigger refuses is passed and named', () => {
  test.each([
    ['at once', 'create trigger', ''],
    ['at the commit', 'create constraint trigger', ''],
    ['because of its new lease_no', 'create trigger', ' and new.lease_no <> old.lease_no'],
    ['because of its status', 'create trigger', " and new.status = 'leased'"],
    [
      'because of the length of its lease',
      'create trigger',
      " and new.lease_expires_at > now() + interval '9 s'",
    ],
  ] as const)('%s', async (_, create, when) => {
    const ids = await enqueueSome(queue.admin, 3);
    const worker = await registerWorker(queue.admin);
    await refuseChanges(queue.admin, create, `old.id = ${ids[1]}${when}`);
    const rows = await queue.admin.rows<{ id: string | null; extra: { refused?: object[] } }>(
      `select id, extra from taskq.claim($1, '{default}', '{work}', 1, 5, $2, null, null, $3) order by id`,
      worker.id,
      LEASE_MS,
      { looked: true, one_by_one: true },
    );
    expect(rows.map(({ id }) => id)).toEqual([ids[0], ids[2], null]);
    expect(rows[2]!.extra.refused).toMatchObject([{ id: ids[1], error: 'not allowed by the application' }]);
  });

  test('hundreds of them are passed, and a level of which a row was not tried does not count as read', async () => {
    const bad = await enqueueSome(queue.admin, 300, { priority: 1 });
    const good = await enqueueSome(queue.admin, 3, { priority: 1 });
    await enqueueSome(queue.admin, 2, { priority: 2 });
    const worker = await registerWorker(queue.admin);
    await refuseChanges(queue.admin, 'create trigger', `old.id <= ${bad.at(-1)}`);
    const rows = await queue.admin.rows<{
      id: string | null;
      extra: { levels?: number; refused?: object[] };
    }>(
      `select id, extra from taskq.claim($1, '{default}', '{work}', 1, 1, $2, null, null, $3) order by id`,
      worker.id,
      LEASE_MS,
      { looked: true, one_by_one: true },
    );
    expect(rows.map(({ id }) => id)).toEqual([good[0], good[1], null]);
    expect(rows[2]!.extra.refused).toHaveLength(300);
    // Priority 0 alone: of 1 the last task is left.
    expect(rows[2]!.extra.levels).toBe(1);
  });
});

test.each(['repeatable read', 'serializable'])('a claim at %s is refused', async (level) => {
  const me = await registerWorker(await queue.session());
  await enqueue(queue.admin);
  await me.session.rows(`begin isolation level ${level}`);
  await expect(me.claim()).rejects.toThrow(`claim: the transaction is ${level}: expected read committed`);
  await me.session.rows('rollback');
  expect(await me.claim()).toHaveLength(1);
});
