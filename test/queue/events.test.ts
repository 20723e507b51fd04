import { beforeEach, describe, expect, test } from 'vitest';
import { enqueue, enqueueSome } from './rows.ts';
import { type Session, useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

interface Event {
  readonly position: string;
  readonly id: string;
  readonly status: string;
  readonly reason: string | null;
}

const read = (position: string | null = null, limit = 1000, session: Session = queue.admin) =>
  session.rows<Event>('select * from taskq.events_after($1, $2)', position, limit);
const now = () => queue.admin.value<string>('select taskq.events_now()');
const idsOf = (events: readonly Event[]) => events.map(({ id }) => id);
const last = (events: readonly Event[]) => events.at(-1)!.position;
const cancel = (session: Session, ...ids: string[]) => session.rows('select * from taskq.cancel($1)', ids);

/** Ends tasks in a transaction that stays open. */
async function endOpenly(...ids: string[]): Promise<Session> {
  const session = await queue.session();
  await session.rows('begin');
  await cancel(session, ...ids);
  return session;
}

/** Reads to the end in pages of this size, each from the position of the last event of the one before. */
async function readAll(limit: number, from: string | null = null): Promise<Event[]> {
  const all: Event[] = [];
  for (let page = await read(from, limit); page.length > 0; page = await read(last(page), limit))
    all.push(...page);
  return all;
}

beforeEach(async () => {
  await queue.admin.rows(`select taskq.set_queue('default', '{"record_events": true}')`);
  await queue.admin.rows('delete from taskq.dropped_events');
});

describe('what is recorded', () => {
  test('a task that could not be inserted, and is a dead letter from the beginning', async () => {
    await queue.admin.rows(`
      create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
      create trigger refuse before insert on taskq.tasks for each row when (new.type = 'after')
      execute function public.refuse()`);
    await queue.admin.rows("select taskq.add_types('{after}')");
    const id = await enqueue(queue.admin, { on_complete: { type: 'after' } });
    const worker = await registerWorker(queue.admin);
    await worker.settle(outcome(await claimOne(worker), 'completed'));
    await queue.admin.rows('drop function public.refuse cascade');
    expect(await read()).toMatchObject([
      { id, status: 'completed' },
      { status: 'dead', type: 'after', reason: 'could not be inserted: no' },
    ]);
  });

  test('a dead letter under a new id, where another one has its own', async () => {
    const [id] = await enqueueSome(queue.admin, 1);
    await queue.admin.rows("select taskq.add_dead($1, 'first')", id);
    await queue.admin.rows(
      `insert into taskq.tasks (id, available_at, not_before, created_at, type, lease_no, lease_owner, lease_expires_at, status)
       values ($1, now(), now(), now(), 'work', 1, 7, now(), 'leased')`,
      id,
    );
    await queue.admin.rows(
      `select taskq.settle(7, $1)`,
      JSON.stringify([{ id, lease_no: 1, outcome: 'dead' }]),
    );
    const dead = await queue.admin.rows<{ id: string }>('select id from taskq.dead_tasks order by died_at');
    expect(new Set(dead.map((row) => row.id)).size).toBe(2);
    expect(idsOf(await read())).toEqual(dead.map((row) => row.id));
  });

  test('the failure that completes a task', async () => {
    await queue.admin.rows(`select taskq.set_queue('default', '{"on_failure": "complete"}')`);
    const id = await enqueue(queue.admin, { retention: 'none' });
    const worker = await registerWorker(queue.admin);
    await worker.settle(outcome(await claimOne(worker), 'failed'));
    expect(await read()).toMatchObject([{ id, status: 'completed', reason: null, attempts: 1 }]);
  });

  test('each end of a task that is revived, and nothing while the setting is off', async () => {
    const id = await enqueue(queue.admin);
    await queue.admin.rows("select taskq.add_dead($1, 'one')", id);
    await queue.admin.rows('select taskq.revive($1)', [id]);
    await queue.admin.rows("select taskq.add_dead($1, 'two')", id);
    await queue.admin.rows('select taskq.revive($1)', [id]);
    await queue.admin.rows(`select taskq.set_queue('default', '{"record_events": null}')`);
    await cancel(queue.admin, id);
    expect(await read()).toMatchObject([
      { id, reason: 'one' },
      { id, reason: 'two' },
    ]);
  });
});

describe('what is read', () => {
  test('ends that commit in the opposite order of their ids, each once, in the order of their commits', async () => {
    const [a, b, c] = await enqueueSome(queue.admin, 3);
    const first = await endOpenly(a!);
    const second = await endOpenly(b!);
    await second.rows('commit');
    await cancel(queue.admin, c!);
    const before = await read();
    expect(idsOf(before)).toEqual([b, c]);
    expect(await read(last(before))).toEqual([]);
    await first.rows('commit');
    const after = await read(last(before));
    expect(idsOf(after)).toEqual([a]);
    expect(await read(last(after))).toEqual([]);
    // From the position in the middle, which knows of both.
    expect(idsOf(await read(before[0]!.position))).toEqual([a, c]);
  });

  test('a transaction that stays open holds up no other, however many end', async () => {
    const [held, ...others] = await enqueueSome(queue.admin, 5);
    const open = await endOpenly(held!);
    let position = null;
    for (const id of others) {
      await cancel(queue.admin, id);
      const page: Event[] = await read(position);
      expect(idsOf(page)).toEqual([id]);
      position = last(page);
    }
    await open.rows('commit');
    expect(idsOf(await read(position))).toEqual([held]);
  });

  test('what was open at the position comes first, in pages that end anywhere', async () => {
    const ids = await enqueueSome(queue.admin, 12);
    const two = await endOpenly(...ids.slice(0, 3));
    const one = await endOpenly(...ids.slice(3, 6));
    await cancel(queue.admin, ...ids.slice(6, 9));
    const whole = (await read()).length;
    const page = await read(null, 2);
    expect(idsOf(page)).toEqual(ids.slice(6, 8));
    await one.rows('commit');
    await cancel(queue.admin, ...ids.slice(9));
    for (const limit of [1, 2, 4, 100]) {
      const rest = await readAll(limit, last(page));
      expect(idsOf(rest)).toEqual([...ids.slice(3, 6), ids[8], ...ids.slice(9)]);
    }
    // While it reads the events of one that was open, another one commits.
    const late = await read(last(page), 2);
    await two.rows('commit');
    const rest = await readAll(1, last(late));
    expect(idsOf([...late, ...rest]).toSorted()).toEqual(
      [...ids.slice(0, 6), ids[8], ...ids.slice(9)].toSorted(),
    );
    expect(whole).toBe(3);
  });

  test('what a savepoint took back is no event, and what follows it is', async () => {
    const [a, b] = await enqueueSome(queue.admin, 2);
    const session = await queue.session();
    await session.rows('begin');
    await session.rows('savepoint s');
    await cancel(session, a!);
    await session.rows('rollback to s');
    await session.rows('savepoint s');
    await cancel(session, b!);
    await session.rows('commit');
    expect(idsOf(await read())).toEqual([b]);
  });

  test('not what its own transaction ends, before that commits', async () => {
    const [a, b, c] = await enqueueSome(queue.admin, 3);
    const session = await endOpenly(a!);
    await cancel(queue.admin, b!);
    const within = await read(null, 1000, session);
    expect(idsOf(within)).toEqual([b]);
    await cancel(session, c!);
    expect(await read(last(within), 1000, session)).toEqual([]);
    await session.rows('commit');
    expect(idsOf(await read(last(within)))).toEqual([a, c]);
  });

  test('a prepared transaction, once it is committed', async () => {
    const [a, b] = await enqueueSome(queue.admin, 2);
    const session = await endOpenly(a!);
    await session.rows("prepare transaction 'events'");
    await cancel(queue.admin, b!);
    const page = await read();
    expect(idsOf(page)).toEqual([b]);
    await queue.admin.rows("commit prepared 'events'");
    expect(idsOf(await read(last(page)))).toEqual([a]);
  });

  test('from now on: what was open, and what begins', async () => {
    const [a, b, c, d] = await enqueueSome(queue.admin, 4);
    await cancel(queue.admin, a!);
    const open = await endOpenly(b!);
    const end = await now();
    expect(await read(end)).toEqual([]);
    await cancel(queue.admin, c!);
    await open.rows('commit');
    expect(idsOf(await read(end))).toEqual([b, c]);
    const own = await endOpenly(d!);
    const before = await own.value<string>('select taskq.events_now()');
    await own.rows('commit');
    expect(idsOf(await read(before))).toEqual([d]);
  });

  test('by a role that is read-only', async () => {
    const id = await enqueue(queue.admin);
    await cancel(queue.admin, id);
    const session = await queue.session();
    await session.rows('begin read only');
    expect(idsOf(await read(null, 10, session))).toEqual([id]);
    await session.rows('commit');
  });

  test('only once it cannot be lost', async () => {
    const id = await enqueue(queue.admin);
    const session = await queue.session();
    await session.rows('set synchronous_commit = off');
    await cancel(session, id);
    const asked = await session.value<string>('select pg_current_wal_insert_lsn()');
    expect(idsOf(await read(null, 10, session))).toEqual([id]);
    expect(await queue.admin.value('select pg_current_wal_flush_lsn() >= $1::pg_lsn', asked)).toBe(true);
  });
});

describe('a position', () => {
  async function oneEvent(): Promise<Event> {
    await cancel(queue.admin, await enqueue(queue.admin));
    return (await read()).at(-1)!;
  }

  const refused = (position: string, limit?: number) =>
    read(position, limit).catch((error: unknown) => error);

  test('that is none is refused, and so is a limit out of bounds', async () => {
    const { position } = await oneEvent();
    for (const garbage of [
      '',
      'now',
      '1',
      `${position}x`,
      `${position}1.1.1`,
      `${position}1,,2`,
      '0:0:0:0:'.repeat(9),
    ])
      expect(await refused(garbage), garbage).toMatchObject({ code: '22023' });
    for (const limit of [0, -1, 10_001])
      expect(await refused(position, limit)).toMatchObject({ code: '22023' });
    expect(await read(position)).toEqual([]);
  });

  test('of another server, or of an event that this one has lost, is refused', async () => {
    const { position } = await oneEvent();
    expect(await refused(position.replace(/^\d+/, '1'))).toMatchObject({
      code: '55000',
      message: expect.stringContaining('another server'),
    });
    await queue.admin.rows("update taskq.events set at = at + interval '1 microsecond'");
    expect(await refused(position)).toMatchObject({
      code: '55000',
      message: expect.stringContaining('has lost'),
    });
  });

  test('of a dump that another server had ahead of this one is said, after what is of this one', async () => {
    await oneEvent();
    await queue.admin.rows(
      `insert into taskq.events
       select (k.e).* from (select jsonb_populate_record(e, '{"xid": "4000000000"}') as e from taskq.events e) as k`,
    );
    const page = await read();
    expect(page).toHaveLength(1);
    expect(await refused(page[0]!.position)).toMatchObject({
      code: '55000',
      message: expect.stringContaining('from a backup'),
    });
  });

  test.each([
    ['of a transaction to come', async () => (await oneEvent()).position.replace(/:[^:]*/, ':4000000000')],
    ['of an event', async () => (await oneEvent()).position],
    [
      'of what had ended',
      async () => {
        await oneEvent();
        return now();
      },
    ],
  ])('%s that a failover has lost is refused', async (_, given) => {
    const position = await given();
    await queue.admin.rows("update taskq.events set at = at + interval '1 second'");
    expect(await refused(position)).toMatchObject({
      code: '55000',
      message: expect.stringContaining('the server has lost'),
    });
  });

  test('goes on while a transaction is open since before what housekeeping has removed', async () => {
    const open = await queue.session();
    await open.rows('begin');
    const xid = await open.value<string>('select pg_current_xact_id()');
    // Of other databases of the server, transactions may have been open and have ended.
    const ofThis = (position: string) => position.replace(/[^:]*$/, xid);
    const { position } = await oneEvent();
    const end = await now();
    await queue.admin.rows('select taskq.note_dropped_event(e.xid, e.id) from taskq.events e');
    await queue.admin.rows('delete from taskq.events');
    const { id } = await oneEvent();
    for (const from of [position, end]) expect(idsOf(await read(ofThis(from)))).toEqual([id]);
    await open.rows('commit');
    expect(await refused(ofThis(end))).toMatchObject({
      message: expect.stringContaining('may have been removed'),
    });
  });

  test('is refused where its snapshot is an old one', async () => {
    const session = await queue.session();
    for (const level of ['repeatable read', 'serializable']) {
      await session.rows(`begin isolation level ${level}`);
      await expect(read(null, 1, session)).rejects.toMatchObject({ code: '25000' });
      await session.rows('rollback');
    }
  });

  test('older than what is kept says that something may be missing; one at the end of it goes on', async () => {
    const [a, b, c] = await enqueueSome(queue.admin, 3);
    const before = await now();
    await cancel(queue.admin, a!, b!);
    const [first, second] = await read();
    // Their day is over: they are in a partition of their own, which housekeeping drops.
    await queue.admin.rows(
      "create table if not exists taskq.events_20200101 partition of taskq.events for values in ('2020-01-01')",
    );
    await queue.admin.rows("update taskq.events set drop_on = '2020-01-01', kept_in = '2020-01-01'");
    expect(idsOf(await read())).toEqual([a, b]);
    await queue.admin.rows('select * from taskq.drop_partitions()');
    for (const position of [before, first!.position])
      expect(await refused(position)).toMatchObject({
        code: '55000',
        message: expect.stringContaining('seven days'),
      });
    // Other databases of the server may have had transactions open.
    const end = second!.position.replace(/[^:]*$/, '');
    expect(await read(end)).toEqual([]);
    await cancel(queue.admin, c!);
    expect(idsOf(await read(end))).toEqual([c]);
    expect(idsOf(await read())).toEqual([c]);
  });

  test('likewise after both tables were truncated, as of a restored backup', async () => {
    await queue.admin.rows('truncate taskq.events, taskq.dropped_events');
    const { position } = await oneEvent();
    await queue.admin.rows("update taskq.events set at = at + interval '1 second'");
    expect(await refused(position)).toMatchObject({ message: expect.stringContaining('has lost') });
    await queue.admin.rows("update taskq.events set drop_on = '2020-01-01', kept_in = '-infinity'");
    await oneEvent();
    await queue.admin.rows("update taskq.events set drop_on = '2020-01-01', kept_in = '-infinity'");
    await queue.admin.rows('select * from taskq.place_history()');
    expect(await refused(position)).toMatchObject({ message: expect.stringContaining('seven days') });
  });

  test('likewise where they had no partition', async () => {
    const { position } = await oneEvent();
    await oneEvent();
    await queue.admin.rows("update taskq.events set drop_on = '2020-01-01', kept_in = '-infinity'");
    await queue.admin.rows('select * from taskq.place_history()');
    expect(await queue.admin.rows('select from taskq.events')).toEqual([]);
    expect(await refused(position)).toMatchObject({ message: expect.stringContaining('seven days') });
  });

  test('with a transaction that was open, whose events may have been among those removed, says so', async () => {
    const [a, b] = await enqueueSome(queue.admin, 2);
    const open = await endOpenly(a!);
    await cancel(queue.admin, b!);
    const position = last(await read());
    await open.rows('commit');
    await queue.admin.rows(
      `select taskq.note_dropped_event(e.xid, e.id) from taskq.events e order by e.xid limit 1`,
    );
    expect(await refused(position)).toMatchObject({
      message: expect.stringContaining('may have been removed'),
    });
  });
});

test('housekeeping makes a partition of each day for a queue that records events, and for no other', async () => {
  const wanted = () =>
    queue.admin.value<number>(
      "select count(*)::integer from taskq.wanted_partitions() as w where w.parent = 'events' and isfinite(w.day)",
    );
  expect(await wanted()).toBe(4);
  await queue.admin.rows(`select taskq.set_queue('default', '{"record_events": false}')`);
  await queue.admin.rows('delete from taskq.events');
  expect(await wanted()).toBe(0);
});
