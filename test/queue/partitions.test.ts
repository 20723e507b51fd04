import { beforeEach, describe, expect, test } from 'vitest';
import { stats } from '../../src/queue/inspect/stats.ts';
import { beginHousekeeping, maintain } from '../../src/queue/protocol/maintain.ts';
import { explained, reportPlans } from '../sql/explained.ts';
import { enqueue, enqueueSome, finishedRow, lapse, type Row, rescueAll, silence, statusOf } from './rows.ts';
import { type Session, useDatabase } from './session.ts';
import { patiently, waitUntilBlocked } from './waiting.ts';
import { claimOne, outcome, type PlainWorker, registerWorker } from './worker.ts';

const queue = useDatabase();

function partitions(): Promise<{ name: string }[]> {
  return queue.admin.rows(
    `select relname as name from pg_inherits join pg_class c on c.oid = inhrelid
     where inhparent in ('taskq.finished_tasks'::regclass, 'taskq.task_errors'::regclass) order by 1`,
  );
}

/** The name of the partition of this many days from now on. */
function day(days: number): Promise<string> {
  return queue.admin.value(
    "select 'finished_tasks_' || to_char((clock_timestamp() at time zone 'UTC')::date + $1::int, 'YYYYMMDD')",
    days,
  );
}

async function makePartition(parent: string, name: string): Promise<void> {
  await queue.admin.rows(`create table taskq.${name} (like taskq.${parent} including all)`);
  await queue.admin.rows(
    `alter table taskq.${parent} attach partition taskq.${name} for values in ('${name.slice(-8)}')`,
  );
}

/** Makes a partition whose days are over, with a row in it. */
async function makeOver(days: number): Promise<string> {
  const name = await day(-days);
  await makePartition('finished_tasks', name);
  await queue.admin.rows(
    `insert into taskq.finished_tasks (id, created_at, not_before, finished_at, drop_on, kept_in, lease_no,
       lease_owner, attempts, losses, releases, status, priority, queue, type, payload, created_by)
     select 1, ts, ts, ts, '${name.slice(-8)}', '${name.slice(-8)}', 1, 1, 0, 0, 0, 'completed', 2, 'q', 't', '{}', 'me'
     from clock_timestamp() as ts`,
  );
  return name;
}

/** Lets the partitions be those that a worker made this many days ago. */
async function standStill(days: number): Promise<void> {
  for (const { name } of await partitions()) {
    const [, parent, made] = /^(.*)_(\d{8})$/.exec(name) ?? [];
    if (parent === undefined) continue;
    await queue.admin.rows(`drop table taskq.${name}`);
    const then = "to_char(to_date($1, 'YYYYMMDD') - $2::int, 'YYYYMMDD')";
    const before = await queue.admin.value<string>(`select ${then}`, made, days);
    await makePartition(parent, `${parent}_${before}`);
  }
}

/** Does everything that is to be done. */
async function maintainAll(): Promise<Record<string, number>> {
  const total: Record<string, number> = {};
  for (let isMore = true; isMore; ) {
    const done = (await maintain(queue.admin))!;
    for (const [what, count] of Object.entries(done.counts)) total[what] = (total[what] ?? 0) + count;
    isMore = done.more;
  }
  return total;
}

/** Today in UTC, as partitions are named. */
const TODAY = new Date().toISOString().slice(0, 10).replaceAll('-', '');

const UNPLACED =
  "select count(*)::int from taskq.finished_tasks where kept_in = '-infinity' and status = 'completed'";

// The template may be of yesterday, and other tests leave partitions of retentions that are no longer used.
beforeEach(async () => {
  for (const { name } of await partitions()) await queue.admin.rows(`drop table taskq.${name}`);
  await queue.admin.rows('select taskq.ensure_partitions()');
});

describe('what is made', () => {
  test('a fresh schema has no more than 64 tables', async () => {
    const tables = `
      select count(*)::int from pg_class where relnamespace = 'taskq'::regnamespace and relkind in ('r', 'p')`;
    expect(await queue.admin.value(tables)).toBeLessThanOrEqual(64);
    // Of history, a place for everything, and today and three days more of both retentions.
    expect(await partitions()).toHaveLength(2 + 4 + 4);
  });

  test('a second call makes nothing', async () => {
    const before = await partitions();
    expect(await queue.admin.value('select taskq.ensure_partitions()')).toBe(0);
    expect(await partitions()).toEqual(before);
  });

  test('each retention in use has a partition for what ends today and on the next three days', async () => {
    await queue.admin.rows("insert into taskq.queues (name, retention) values ('q', '2d'), ('z', 'none')");
    await queue.admin.rows("update taskq.task_types set retention = '90d'");
    await queue.admin.rows("update taskq.defaults set errors_retention = 'ever'");
    await queue.admin.rows('select taskq.ensure_partitions()');
    const missing = `
      select count(*)::int from generate_series(0, 3) as later cross join unnest($2::text[]) as kept (period)
      where taskq.place_of($1, taskq.drop_on(kept.period, clock_timestamp() + later * interval '1 day')) = '-infinity'`;
    expect(await queue.admin.value(missing, 'finished_tasks', ['2d', '7d', '90d'])).toBe(0);
    expect(await queue.admin.value(missing, 'task_errors', ['ever'])).toBe(0);
    expect(await queue.admin.value(missing, 'finished_tasks', ['ever'])).toBe(4);
  });

  test('is known by its name and its bound, also where the server quotes all names: not all are searched', async () => {
    const session = await queue.directSession();
    await session.rows("set track_functions = 'all'");
    await session.rows('set quote_all_identifiers = on');
    await session.rows('begin');
    const drop = "taskq.drop_on('7d', clock_timestamp())";
    expect(await session.value(`select taskq.place_of('finished_tasks', ${drop}) = ${drop}`)).toBe(true);
    const called = await session.rows<{ name: string }>(
      "select funcname as name from pg_stat_xact_user_functions where schemaname = 'taskq'",
    );
    await session.rows('rollback');
    const names = called.map(({ name }) => name);
    expect(names).toContain('place_of');
    expect(names).not.toContain('history_partitions');
  });

  test('it is in the tablespace of the database, whatever the caller makes its own tables in', async (context) => {
    if ((await queue.admin.value<number>("select current_setting('server_version_num')::int")) < 150_000)
      return context.skip('it has no tablespace without a directory');
    const before = await partitions();
    const space = `space_${await queue.admin.value('select current_database()')}`;
    const session = await queue.directSession();
    await session.rows('set allow_in_place_tablespaces = on');
    await session.rows(`create tablespace ${space} location ''`);
    try {
      await session.rows(`set default_tablespace = ${space}`);
      for (const { name } of before) await session.rows(`drop table taskq.${name}`);
      await session.rows('select taskq.ensure_partitions()');
      expect(await partitions()).toEqual(before);
      const elsewhere = `
        select oid::regclass::text from pg_class
        where reltablespace = (select oid from pg_tablespace where spcname = $1)`;
      expect(await session.rows(elsewhere, space)).toEqual([]);
    } finally {
      await session.rows(`set default_tablespace = ''`);
      await session.rows(`alter table all in tablespace ${space} set tablespace pg_default`);
      await session.rows(`alter index all in tablespace ${space} set tablespace pg_default`);
      await session.rows(`drop tablespace ${space}`);
    }
  });

  test('eight sessions at once make each missing partition once, and none fails or waits', async () => {
    const before = await partitions();
    for (const { name } of before.filter((_, place) => place % 2 === 0))
      await queue.admin.rows(`drop table taskq.${name}`);
    const missing = before.length - (await partitions()).length;
    const sessions = await Promise.all(Array.from({ length: 8 }, () => queue.session()));
    const made = await Promise.all(
      sessions.map((session) => session.value<number>('select taskq.ensure_partitions()')),
    );
    expect(made.reduce((sum, count) => sum + count)).toBe(missing);
    expect(await partitions()).toEqual(before);
  });

  test('it is created while other sessions read history, settle and cancel', async () => {
    await standStill(40);
    const [settled, cancelled] = await enqueueSome(queue.admin, 2);
    const reader = await queue.session();
    await reader.rows('begin isolation level repeatable read');
    await reader.rows('select from taskq.finished_tasks');
    const settling = await registerWorker(await queue.session());
    await settling.session.rows('begin');
    await settling.settle(outcome(await claimOne(settling), 'completed'));
    const application = await queue.session();
    await application.rows('begin');
    await application.rows('select * from taskq.cancel($1)', [cancelled]);
    const maker = await queue.session();
    // All that waits for a lock here would end here.
    await maker.rows("set statement_timeout = '20s'");
    expect(await maker.value('select taskq.ensure_partitions()')).toBe(8);
    await settling.session.rows('commit');
    await application.rows('commit');
    // Only the old ones of errors, which are not read.
    expect(await maintain(maker)).toMatchObject({ counts: { rows_placed: 2, partitions_dropped: 4 } });
    expect(await statusOf(reader, settled!)).toBe('pending');
    await reader.rows('commit');
    expect(await statusOf(reader, settled!)).toBe('completed');
    expect(await statusOf(reader, cancelled!)).toBe('cancelled');
  });
});

test('figures are taken of the partitions that can hold the time they are of, and of rows without one', async () => {
  const over = await makeOver(2);
  await queue.admin.rows(`drop table taskq.${await day(7)}`);
  const [id] = await enqueueSome(queue.admin, 1);
  await queue.admin.rows('select * from taskq.cancel($1)', [id]);
  const session = await queue.directSession();
  await reportPlans(session);
  const { result, scanned } = await explained(session, () => stats(session, 3_600_000));
  expect(result.queues).toMatchObject([{ ended: { cancelled: 1 } }]);
  expect(scanned).toContain('finished_tasks_unplaced');
  expect(scanned).not.toContain(over);
});

test('until it drops something, housekeeping holds nothing that anybody else asks for', async () => {
  for (const { name } of await partitions())
    if (!name.endsWith('_unplaced')) await queue.admin.rows(`drop table taskq.${name}`);
  await queue.admin.rows('select * from taskq.cancel($1)', [await enqueueSome(queue.admin, 3)]);
  const keeper = await queue.session();
  await keeper.rows('begin');
  expect(await maintain(keeper)).toMatchObject({ counts: { partitions_made: 8, rows_placed: 3 } });
  // Who waits for its transaction ends here.
  const others = await queue.session();
  await others.rows("set statement_timeout = '20s'");
  const ids = await endInEachWay(others);
  expect(await shown(Object.values(ids))).toHaveLength(10);
  expect(await others.rows('select from taskq.all_tasks')).toHaveLength(13);
  expect(await others.value('select taskq.ensure_partitions()')).toBe(0);
  await keeper.rows('commit');
  expect(await maintain(others)).toMatchObject({ counts: { rows_placed: 12 } });
});

describe('what is dropped', () => {
  test('is what is over: not today, not `ever`', async () => {
    const [yesterday, longAgo] = [await makeOver(1), await makeOver(400)];
    const before = await partitions();
    const dropped = await queue.admin.rows<{ name: string }>(
      'select partition as name from taskq.drop_partitions() order by 1',
    );
    expect(dropped.map((row) => row.name)).toEqual([longAgo, yesterday]);
    expect(await partitions()).toEqual(before.filter(({ name }) => name !== yesterday && name !== longAgo));
  });

  test('a partition with an open reader is dropped the next time, and no settle waits meanwhile', async () => {
    const names = [await makeOver(2), await makeOver(1)];
    const reader = await queue.session();
    await reader.rows('begin');
    await reader.rows(`select from taskq.${names[0]}`);
    await reader.rows('select from taskq.finished_tasks limit 1');
    // Where the drop waited for the reader, it would do so for ten seconds, and a settle behind it would give up.
    await queue.admin.rows("alter function taskq.drop_partitions set lock_timeout = '10s'");
    const worker = await registerWorker(await queue.session());
    await worker.session.rows("set statement_timeout = '20s'");
    const sweeper = await queue.session();
    await sweeper.rows("set statement_timeout = '20s'");
    for (let round = 0; round < 3; round++) {
      const id = await enqueue(queue.admin);
      const task = await claimOne(worker);
      const [dropped, answers] = await Promise.all([
        sweeper.rows('select * from taskq.drop_partitions()'),
        worker.settle(outcome(task, 'completed')),
      ]);
      expect(dropped).toEqual([]);
      expect(answers).toMatchObject([{ answer: 'recorded' }]);
      expect(await finishedRow(queue.admin, id)).toBeDefined();
    }
    await reader.rows('commit');
    expect(await queue.admin.rows('select partition as name from taskq.drop_partitions()')).toEqual(
      names.map((name) => ({ name })),
    );
    await queue.admin.rows("alter function taskq.drop_partitions set lock_timeout = '50ms'");
  });

  test('a partition with an open reader does not keep others from being dropped', async () => {
    const [read, free] = [await makeOver(2), await makeOver(1)];
    const reader = await queue.session();
    await reader.rows('begin');
    await reader.rows(`select from taskq.${read}`);
    expect(await queue.admin.rows('select partition as name from taskq.drop_partitions()')).toEqual([
      { name: free },
    ]);
    await reader.rows('commit');
  });
});

/** Ends a task in each way there is; returns the ids by the way. */
async function endInEachWay(admin: Session): Promise<Record<string, string>> {
  const worker = await registerWorker(admin);
  const silent = await registerWorker(admin);
  const held = async (by: PlainWorker, options: object = {}) => {
    await enqueue(admin, options);
    return claimOne(by);
  };
  const completed = await held(worker);
  const settled = await held(worker, { retention: '3d' });
  const failed = await held(worker);
  const died = await held(worker);
  const cancelledRunning = await held(worker);
  const lost = await held(silent);
  const lostCancelled = await held(silent);
  await admin.rows(
    'select * from taskq.complete($1, $2, $3)',
    worker.id,
    [completed.id],
    [completed.lease_no],
  );
  await admin.rows('select * from taskq.cancel($1)', [cancelledRunning.id, lostCancelled.id]);
  await worker.settle(
    outcome(settled, 'completed', { result: { n: 1 } }),
    outcome(failed, 'failed', { delay_ms: 3_600_000, error: {} }),
    outcome(died, 'dead', { error: {} }),
    outcome(cancelledRunning, 'cancelled'),
  );
  const revived = await held(worker);
  await worker.settle(outcome(revived, 'dead', { error: {} }));
  await admin.rows('select * from taskq.revive($1)', [revived.id]);
  await worker.settle(
    outcome((await worker.claim({ start: 9 })).find(({ id }) => id === revived.id)!, 'completed'),
  );
  await silence(admin, silent.id, 120_000);
  await lapse(admin, [lost.id, lostCancelled.id]);
  await rescueAll(admin, worker.id);
  const [cancelledWaiting, expired] = await enqueueSome(admin, 2, { expires_ms: 60_000 });
  await admin.rows('select * from taskq.cancel($1)', [cancelledWaiting]);
  await admin.rows('update taskq.tasks set expires_at = created_at where id = $1', expired);
  await admin.rows('select taskq.expire(1000)');
  return {
    completed: completed.id,
    settled: settled.id,
    failed: failed.id,
    died: died.id,
    cancelledRunning: cancelledRunning.id,
    lost: lost.id,
    lostCancelled: lostCancelled.id,
    revived: revived.id,
    cancelledWaiting: cancelledWaiting!,
    expired: expired!,
  };
}

const shown = (ids: readonly string[]): Promise<Row[]> =>
  queue.admin.rows('select taskq.show_task(id::bigint) as task from unnest($1::text[]) as id', ids);

describe.each([40, 400])('after %i days without a worker', (days) => {
  beforeEach(() => standStill(days));

  test('whatever ends a task finds a place, and housekeeping brings it to its own', async () => {
    const ids = await endInEachWay(queue.admin);
    const statuses = { failed: 'pending', died: 'dead', lost: 'pending', expired: 'expired' };
    const cancelled = {
      cancelledRunning: 'cancelled',
      cancelledWaiting: 'cancelled',
      lostCancelled: 'cancelled',
    };
    const expected = {
      completed: 'completed',
      settled: 'completed',
      revived: 'completed',
      ...statuses,
      ...cancelled,
    };
    for (const [way, id] of Object.entries(ids))
      expect([way, await statusOf(queue.admin, id)]).toEqual([way, expected[way as keyof typeof expected]]);
    const before = await shown(Object.values(ids));
    const kept = (from: string) => queue.admin.rows<Row>(`select distinct kept_in::text from taskq.${from}`);
    expect(await kept('finished_tasks')).toEqual([{ kept_in: '-infinity' }]);
    expect(await kept('task_errors')).toEqual([{ kept_in: '-infinity' }]);

    const done = await maintainAll();
    expect(done).toMatchObject({ rows_placed: 7 + 5, rows_dropped: 0 });
    expect(await shown(Object.values(ids))).toEqual(before);
    for (const parent of ['finished_tasks', 'task_errors']) {
      const misplaced = `select count(*)::int from taskq.${parent} where kept_in <> drop_on`;
      expect(await queue.admin.value(misplaced)).toBe(0);
    }
    // Those of then are over, unless a day or a month of them still lies ahead.
    const over = (await partitions()).filter(({ name }) => /_\d{8}$/.test(name) && name.slice(-8) < TODAY);
    expect(over).toEqual([]);
  });
});

describe('rows without a partition', () => {
  const settleOne = async (options: object = {}) => {
    const id = await enqueue(queue.admin, options);
    const worker = await registerWorker(queue.admin);
    expect(await worker.settle(outcome(await claimOne(worker), 'completed'))).toMatchObject([
      { answer: 'recorded' },
    ]);
    return id;
  };

  test.each(['1d', '13d', '60d', '90d', '700d', '701d', 'ever'])(
    'a task of its own retention, %s, is kept until then wherever it lies, and the next one finds a partition',
    async (retention) => {
      const id = await settleOne({ retention });
      const row = () =>
        queue.admin.row(
          `select drop_on = taskq.drop_on($2, finished_at) as right_day, kept_in = drop_on as placed
           from taskq.finished_tasks where id = $1`,
          id,
          retention,
        );
      expect(await row()).toEqual({ right_day: true, placed: false });
      expect(await maintain(queue.admin)).toMatchObject({ counts: { rows_placed: 1 } });
      expect(await row()).toEqual({ right_day: true, placed: true });
      await settleOne({ retention });
      expect(await queue.admin.value(UNPLACED)).toBe(0);
    },
  );

  test('of one batch each finds its own place, and of no retention none is kept', async () => {
    await queue.admin.rows("insert into taskq.queues (name, retention) values ('q', '2d')");
    await queue.admin.rows('select taskq.ensure_partitions()');
    const worker = await registerWorker(queue.admin);
    for (const options of [{}, { queue: 'q' }, { retention: 'none' }, { retention: '20d' }])
      await enqueue(queue.admin, options);
    const tasks = await worker.claim({ start: 9, queues: ['default', 'q'] });
    await worker.settle(...tasks.map((task) => outcome(task, 'completed')));
    const places = await queue.admin.rows<Row>(
      `select (drop_on - (finished_at at time zone 'UTC')::date) as days, kept_in = drop_on as placed
       from taskq.finished_tasks order by id`,
    );
    expect(places).toEqual([
      { days: 7, placed: true },
      { days: 2, placed: true },
      { days: 20, placed: false },
    ]);
  });

  test('go when their last day is over, a page at a time', async () => {
    await standStill(40);
    const ids = await enqueueSome(queue.admin, 5);
    await queue.admin.rows('select * from taskq.cancel($1)', ids);
    await queue.admin.rows('update taskq.finished_tasks set drop_on = drop_on - 8 where id <> $1', ids[0]);
    const page = (limit: number) =>
      queue.admin.row('select placed, dropped from taskq.place_history($1)', limit);
    expect(await page(3)).toEqual({ placed: 0, dropped: 3 });
    await queue.admin.rows('select taskq.ensure_partitions()');
    expect(await page(3)).toEqual({ placed: 1, dropped: 1 });
    expect(await page(3)).toEqual({ placed: 0, dropped: 0 });
    expect(await queue.admin.rows('select id from taskq.finished_tasks')).toEqual([{ id: ids[0] }]);
  });

  test('one that is purged while it is moved is not missed: the purge is refused, and again it succeeds', async () => {
    await standStill(40);
    const id = await settleOne();
    await queue.admin.rows('select taskq.ensure_partitions()');
    const mover = await queue.session();
    await mover.rows('begin');
    await mover.rows('select * from taskq.place_history()');
    const purger = await queue.session();
    const purged = await patiently(queue.admin, ['purge'], async () => {
      const purging = purger.rows('select * from taskq.purge($1)', [id]).catch((error) => error);
      await waitUntilBlocked(queue.admin);
      await mover.rows('commit');
      return purging;
    });
    expect(purged).toMatchObject({ code: '40001' });
    await purger.rows('select * from taskq.purge($1)', [id]);
    expect(await statusOf(queue.admin, id)).toBeUndefined();
  });
});

describe('a partition that was taken away by hand', () => {
  test('is made again where it was dropped', async () => {
    const name = await day(7);
    await queue.admin.rows(`drop table taskq.${name}`);
    const id = await enqueue(queue.admin);
    await queue.admin.rows('select * from taskq.cancel($1)', [id]);
    expect(await statusOf(queue.admin, id)).toBe('cancelled');
    expect(await maintain(queue.admin)).toMatchObject({
      counts: { partitions_made: 1, rows_placed: 1 },
      detached: [],
    });
    expect(await partitions()).toContainEqual({ name });
  });

  test('is named where it was detached, what ends is kept meanwhile, and finds it when it is back', async () => {
    const name = await day(7);
    await queue.admin.rows(`alter table taskq.finished_tasks detach partition taskq.${name}`);
    const id = await enqueue(queue.admin);
    await queue.admin.rows('select * from taskq.cancel($1)', [id]);
    expect(await statusOf(queue.admin, id)).toBe('cancelled');
    for (let round = 0; round < 2; round++) {
      expect(await maintain(queue.admin)).toMatchObject({
        counts: { partitions_made: 0, rows_placed: 0 },
        more: false,
        detached: [name],
      });
    }
    await queue.admin.rows(
      `alter table taskq.finished_tasks attach partition taskq.${name} for values in ('${name.slice(-8)}')`,
    );
    expect(await maintain(queue.admin)).toMatchObject({ counts: { rows_placed: 1 }, detached: [] });
    await queue.admin.rows(`drop table taskq.${name}`);
  });

  test('where the one that takes all was detached, another is made, and the first one named', async () => {
    const unplaced = 'finished_tasks_unplaced';
    await queue.admin.rows(`alter table taskq.finished_tasks detach partition taskq.${unplaced}`);
    for (let round = 0; round < 2; round++)
      expect(await maintain(queue.admin)).toMatchObject({
        counts: { partitions_made: 1 - round },
        detached: [unplaced],
      });
    await queue.admin.rows(`drop table taskq.${await day(7)}`);
    const id = await enqueue(queue.admin);
    await queue.admin.rows('select * from taskq.cancel($1)', [id]);
    expect(await statusOf(queue.admin, id)).toBe('cancelled');
    await queue.admin.rows(`drop table taskq.${unplaced}`);
    expect(await maintain(queue.admin)).toMatchObject({
      counts: { partitions_made: 1, rows_placed: 1 },
      detached: [],
    });
  });

  test('where all of them were dropped, or the one that takes all was detached and renamed, whatever ends a task finds a place', async () => {
    for (const parent of ['finished_tasks', 'task_errors']) {
      await queue.admin.rows(`alter table taskq.${parent} detach partition taskq.${parent}_unplaced`);
      await queue.admin.rows(`alter table taskq.${parent}_unplaced rename to ${parent}_of_then`);
    }
    for (const { name } of await partitions()) await queue.admin.rows(`drop table taskq.${name}`);
    await endInEachWay(queue.admin);
    expect((await partitions()).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['finished_tasks_unplaced', 'task_errors_unplaced']),
    );
    const later = await maintain(queue.admin);
    expect(later).toMatchObject({ detached: [], failed: [] });
    await queue.admin.rows('drop table taskq.finished_tasks_of_then, taskq.task_errors_of_then');
  });

  test('where it cannot be made just now, a settle says so, and succeeds when it is made', async () => {
    await queue.admin.rows(`drop table taskq.finished_tasks_unplaced, taskq.${await day(7)}`);
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(await queue.session());
    const task = await claimOne(worker);
    const other = await queue.session();
    await other.rows('begin');
    await other.rows('lock table taskq.finished_tasks in share update exclusive mode');
    await expect(worker.settle(outcome(task, 'completed'))).rejects.toMatchObject({
      code: '23514',
      message: 'no partition of relation "finished_tasks" found for row',
    });
    await other.rows('commit');
    expect(await worker.settle(outcome(task, 'completed'))).toMatchObject([{ answer: 'recorded' }]);
    expect(await finishedRow(queue.admin, id)).toBeDefined();
  });

  test('a partition goes by the days that it is attached for, and not by its name', async () => {
    const [ours, over] = [await day(7), await makeOver(1)];
    await queue.admin.rows(`alter table taskq.${ours} rename to kept_by_me`);
    await queue.admin.rows(`alter table taskq.${over} rename to finished_tasks_old`);
    for (const name of ['finished_keep_20250101', 'finished_tasks_old_20251399'])
      await queue.admin.rows(`create table taskq.${name} (like taskq.finished_tasks including all)`);
    await queue.admin.rows(
      "alter table taskq.finished_tasks attach partition taskq.finished_keep_20250101 for values in ('2031-01-01')",
    );
    await queue.admin.rows(
      "alter table taskq.finished_tasks attach partition taskq.finished_tasks_old_20251399 for values in ('2031-01-02')",
    );
    const id = await enqueue(queue.admin);
    await queue.admin.rows('select * from taskq.cancel($1)', [id]);
    expect(
      await queue.admin.value('select tableoid::regclass::text from taskq.finished_tasks where id = $1', id),
    ).toBe('taskq.kept_by_me');
    let dropped = 1;
    for (const style of ['ISO, MDY', 'SQL, DMY', 'German']) {
      await queue.admin.rows(`set datestyle = '${style}'`);
      expect(await maintain(queue.admin)).toMatchObject({
        counts: { partitions_made: 0, partitions_dropped: dropped },
        detached: [],
        failed: [],
      });
      dropped = 0;
    }
    await queue.admin.rows('reset datestyle');
    const left = (await partitions()).map(({ name }) => name);
    expect(left).toEqual(
      expect.arrayContaining(['finished_keep_20250101', 'finished_tasks_old_20251399', 'kept_by_me']),
    );
    expect(left).not.toContain('finished_tasks_old');
  });
});

test('a fault of one partition is reported, and stops no other step', async () => {
  const old = await makeOver(3);
  const oldest = await makeOver(4);
  await queue.admin.rows(`create view public.of_old as select id from taskq.${oldest}`);
  // A type of the name that a partition needs: no table can have it.
  const needed = await day(9);
  await queue.admin.rows(`drop table taskq.${needed}`);
  await queue.admin.rows(`create domain taskq.${needed} as integer`);
  await queue.admin.rows(`drop table taskq.${await day(10)}`);
  await enqueueSome(queue.admin, 1, { expires_ms: 1000 });
  await queue.admin.rows('update taskq.tasks set expires_at = created_at');
  const done = (await maintain(queue.admin))!;
  expect(done.counts).toMatchObject({ partitions_made: 1, partitions_dropped: 1, expired: 1 });
  expect(done.failed).toHaveLength(2);
  expect(done.failed).toContainEqual(expect.stringContaining(`cannot make the partition ${needed}: `));
  expect(done.failed).toContainEqual(expect.stringContaining(`cannot drop the partition ${oldest}: `));
  expect(await partitions()).not.toContainEqual({ name: old });
  await queue.admin.rows('drop view public.of_old');
  await queue.admin.rows(`drop domain taskq.${needed}`);
  expect(await maintain(queue.admin)).toMatchObject({
    counts: { partitions_made: 1, partitions_dropped: 1 },
    failed: [],
  });
});

test('whatever the default privileges grant, a new partition is open to those alone who may read history', async () => {
  await queue.admin.rows('alter default privileges grant select on tables to public');
  await queue.admin.rows(`drop table taskq.${await day(7)}`);
  await queue.admin.rows('select taskq.ensure_partitions()');
  const granted = `select count(*)::int from pg_class c, aclexplode(c.relacl) as a
    where c.oid = to_regclass('taskq.' || $1) and a.grantee = 0`;
  expect(await queue.admin.value(granted, await day(7))).toBe(0);
  await queue.admin.rows('alter default privileges revoke select on tables from public');
});

test('no lock open to every role blocks housekeeping or new partitions', async () => {
  const stranger = await queue.session();
  for (const name of ['taskq.maintain', 'taskq.ensure_partitions'])
    await stranger.rows(`select pg_advisory_lock(hashtext('${name}'))`);
  await queue.admin.rows(`drop table taskq.${await day(7)}`);
  expect(await maintain(queue.admin)).toMatchObject({ counts: { partitions_made: 1 } });
  await stranger.rows('select pg_advisory_unlock_all()');
});

describe('the turn of housekeeping', () => {
  const GAP_MS = 60_000;
  const begunAgo = (ms: number) =>
    queue.admin.rows("update taskq.housekeeping set begun_at = clock_timestamp() - $1 * interval '1 ms'", ms);

  beforeEach(() => queue.admin.rows("update taskq.housekeeping set begun_at = '-infinity', tries = 0"));

  test('falls to one of eight workers, once in a period', async () => {
    const sessions = await Promise.all(Array.from({ length: 8 }, () => queue.session()));
    const begun = await Promise.all(sessions.map((session) => beginHousekeeping(session, GAP_MS)));
    expect(begun.filter(({ isDue }) => isDue)).toHaveLength(1);
    await maintain(queue.admin);
    await begunAgo(GAP_MS - 20_000);
    expect(await beginHousekeeping(queue.admin, GAP_MS)).toEqual({ isDue: false });
    await begunAgo(GAP_MS);
    expect(await beginHousekeeping(queue.admin, GAP_MS)).toEqual({ isDue: true });
  });

  test('comes after twice as long where it did not succeed, up to sixteen times', async () => {
    for (const periods of [1, 2, 4, 8, 16, 16]) {
      await begunAgo((periods - 0.4) * GAP_MS);
      expect(await beginHousekeeping(queue.admin, GAP_MS)).toEqual({ isDue: false });
      await begunAgo(periods * GAP_MS);
      expect(await beginHousekeeping(queue.admin, GAP_MS)).toEqual({ isDue: true });
    }
    await maintain(queue.admin);
    await begunAgo(GAP_MS);
    expect(await beginHousekeeping(queue.admin, GAP_MS)).toEqual({ isDue: true });
  });

  test('is due where it was begun in the future, and waits for no transaction that holds it', async () => {
    await begunAgo(-86_400_000);
    const other = await queue.session();
    await other.rows('begin');
    expect(await beginHousekeeping(other, GAP_MS)).toEqual({ isDue: true });
    expect(await beginHousekeeping(queue.admin, GAP_MS)).toMatchObject({
      isDue: false,
      heldBy: { pid: await other.value('select pg_backend_pid()') },
    });
    expect(await maintain(queue.admin)).toMatchObject({ more: false });
    await other.rows('commit');
    expect(await beginHousekeeping(queue.admin, GAP_MS)).toEqual({ isDue: false });
  });
});
