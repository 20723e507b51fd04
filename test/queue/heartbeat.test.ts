import { describe, expect, test } from 'vitest';
import { enqueue, enqueueSome, lapse, liveRow, refuseChanges, rescueAll, silence } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, LEASE_MS, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

/** In how many milliseconds its lease ends. */
function leftMs(id: string): Promise<number> {
  return queue.admin.value(
    'select extract(epoch from lease_expires_at - clock_timestamp())::float * 1000 from taskq.tasks where id = $1',
    id,
  );
}

describe('a lease', () => {
  test('with less than two thirds left is renewed', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    await lapse(queue.admin, [id], -0.6 * LEASE_MS);
    expect(await worker.heartbeat([task])).toMatchObject([
      { id, lease_no: task.lease_no, answer: 'renewed', cancel_requested: false },
    ]);
    expect(await leftMs(id)).toBeGreaterThan(0.7 * LEASE_MS);
  });

  test('with more left is not written, and answers alike', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    const version = () =>
      queue.admin.value('select xmin::text || ctid::text from taskq.tasks where id = $1', id);
    const before = await version();
    expect(await worker.heartbeat([task])).toMatchObject([{ answer: 'renewed' }]);
    expect(await version()).toBe(before);
  });

  test('an expired lease that no worker took is renewed', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    await lapse(queue.admin, [id], 60_000);
    expect(await worker.heartbeat([task])).toMatchObject([{ answer: 'renewed' }]);
    expect(await leftMs(id)).toBeGreaterThan(0.7 * LEASE_MS);
  });

  test('that was rescued, given back, settled, or never was is lost, and nothing is written', async () => {
    const ids = await enqueueSome(queue.admin, 3);
    const worker = await registerWorker(queue.admin);
    const [rescued, givenBack, settled] = await worker.claim({ start: 3 });
    await lapse(queue.admin, [rescued!.id]);
    await rescueAll(queue.admin, worker.id);
    await worker.giveBack([givenBack!]);
    await worker.settle(outcome(settled!, 'completed'));
    const before = await queue.admin.rows('select * from taskq.tasks order by id');
    const beats = await worker.heartbeat([rescued!, givenBack!, settled!, { id: '999999999', lease_no: 1 }]);
    expect(beats.map((beat) => beat.answer)).toEqual(['lost', 'lost', 'lost', 'lost']);
    expect(await queue.admin.rows('select * from taskq.tasks order by id')).toEqual(before);
    expect(before.map((row) => (row as { id: string }).id)).toEqual(ids.slice(0, 2));
  });

  test('of another worker, running the task again, is not renewed by the one before', async () => {
    const id = await enqueue(queue.admin);
    const [a, b] = [await registerWorker(queue.admin), await registerWorker(queue.admin)];
    const old = await claimOne(a);
    await lapse(queue.admin, [id]);
    await rescueAll(queue.admin, a.id);
    const current = await claimOne(b);
    await lapse(queue.admin, [id], -1000);
    expect(await a.heartbeat([old])).toMatchObject([{ answer: 'lost' }]);
    expect(await leftMs(id)).toBeLessThan(1500);
    expect(await b.heartbeat([current])).toMatchObject([{ answer: 'renewed' }]);
  });

  test('that another transaction has locked is busy where it has to be written, at once', async () => {
    const ids = await enqueueSome(queue.admin, 3);
    const worker = await registerWorker(await queue.session());
    const tasks = await worker.claim({ start: 3 });
    await lapse(queue.admin, ids.slice(0, 2), -1000);
    await worker.session.rows("set statement_timeout = '20s'");
    await queue.admin.rows('begin');
    await queue.admin.rows("update taskq.tasks set tags = '{}' where id = any ($1)", [ids[0], ids[2]]);
    expect((await worker.heartbeat(tasks)).map((beat) => beat.answer)).toEqual([
      'busy',
      'renewed',
      'renewed',
    ]);
    await queue.admin.rows('commit');
    expect((await worker.heartbeat(tasks)).map((beat) => beat.answer)).toEqual([
      'renewed',
      'renewed',
      'renewed',
    ]);
  });
});

describe('a task claimed ahead', () => {
  test('is running, since its start, when a heartbeat says that it has started', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker, { ahead: 1 });
    expect(await worker.heartbeat([task])).toMatchObject([{ answer: 'renewed' }]);
    expect(await liveRow(queue.admin, id)).toMatchObject({ status: 'leased', started_at: null });
    expect(await worker.heartbeat([{ ...task, started_ms: 600_000 }])).toMatchObject([{ answer: 'renewed' }]);
    expect(await liveRow(queue.admin, id)).toMatchObject({ status: 'running' });
    const ago =
      "select clock_timestamp() - started_at between interval '10 min' and interval '11 min' from taskq.tasks";
    expect(await queue.admin.value(ago)).toBe(true);
  });

  test('keeps the start that was written first', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker, { ahead: 1 });
    await worker.heartbeat([{ ...task, started_ms: 5000 }]);
    const { started_at } = (await liveRow(queue.admin, id))!;
    await lapse(queue.admin, [id], -1000);
    await worker.heartbeat([{ ...task, started_ms: 9000 }]);
    expect((await liveRow(queue.admin, id))!.started_at).toEqual(started_at);
  });
});

describe('requests and the worker itself', () => {
  test('every request to cancel comes back, of renewed and of unwritten leases', async () => {
    const ids = await enqueueSome(queue.admin, 3);
    const worker = await registerWorker(queue.admin);
    const tasks = await worker.claim({ start: 3 });
    await lapse(queue.admin, [ids[0]!], -1000);
    await queue.admin.rows("select taskq.cancel($1, 'no longer wanted')", ids.slice(0, 2));
    expect(
      (await worker.heartbeat(tasks)).map((beat) => [beat.cancel_requested, beat.cancel_reason]),
    ).toEqual([
      [true, 'no longer wanted'],
      [true, 'no longer wanted'],
      [false, null],
    ]);
  });

  test('without tasks it records that the worker is alive, and clears that it was written off', async () => {
    const worker = await registerWorker(queue.admin);
    await silence(queue.admin, worker.id, 60_000);
    await queue.admin.rows('update taskq.workers set stopped_at = heartbeat_at, leases_until = heartbeat_at');
    expect(await worker.heartbeat([])).toEqual([]);
    const alive =
      "select stopped_at is null and leases_until is null and heartbeat_at > clock_timestamp() - interval '30 s' from taskq.workers";
    expect(await queue.admin.value(alive)).toBe(true);
  });

  test('it does not wait for a lock on its own row', async () => {
    const worker = await registerWorker(await queue.session());
    await worker.session.rows("set statement_timeout = '20s'");
    await queue.admin.rows('begin');
    await queue.admin.rows('select from taskq.workers for update');
    expect(await worker.heartbeat([])).toEqual([]);
    await queue.admin.rows('commit');
  });

  test('the cursors it brings are stored, and given to a worker that starts with the same types or fewer', async () => {
    const worker = await registerWorker(queue.admin, { work: {}, more: {} });
    const beat = "select from taskq.heartbeat($1, '{}', '{}', '{}', 30000, $2)";
    await queue.admin.rows(beat, worker.id, { cursors: { default: [5, 7] } });
    const cursorsFor = (types: object) =>
      queue.admin.value('select cursors from taskq.register_worker($1)', {
        host: 'h',
        pid: 1,
        unique_part: 'b',
        lease_ms: 1000,
        concurrency: 1,
        types,
      });
    await worker.heartbeat([]);
    expect(await cursorsFor({ work: {} })).toEqual([{ default: [5, 7] }]);
    expect(await cursorsFor({ work: {}, other: {} })).toBeNull();
    await silence(queue.admin, worker.id, LEASE_MS + 1000);
    expect(await cursorsFor({ work: {} })).toBeNull();
  });
});

test.each([
  ['at once', 'create trigger'],
  ['at the commit', 'create constraint trigger'],
] as const)(
  'a lease that a trigger refuses to renew %s is busy, and the others are renewed',
  async (_, create) => {
    const ids = await enqueueSome(queue.admin, 3);
    const worker = await registerWorker(queue.admin);
    const tasks = await worker.claim({ start: 3 });
    await lapse(queue.admin, ids, -0.5 * LEASE_MS);
    await silence(queue.admin, worker.id, 2 * LEASE_MS);
    await refuseChanges(queue.admin, create, `old.id = ${ids[1]}`);
    expect(await worker.heartbeat(tasks)).toMatchObject([
      { id: ids[0], answer: 'renewed', extra: null },
      { id: ids[1], answer: 'busy', extra: { error: 'not allowed by the application', code: 'P0001' } },
      { id: ids[2], answer: 'renewed', extra: null },
    ]);
    expect(await leftMs(ids[0]!)).toBeGreaterThan(0.7 * LEASE_MS);
    expect(await leftMs(ids[1]!)).toBeLessThan(0.6 * LEASE_MS);
    expect(await leftMs(ids[2]!)).toBeGreaterThan(0.7 * LEASE_MS);
    // Nobody takes the worker for silent.
    expect(await rescueAll(queue.admin)).toEqual([]);
  },
);
