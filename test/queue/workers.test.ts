import { describe, expect, test } from 'vitest';
import { listWorkers } from '../../src/queue/inspect/list-workers.ts';
import { pauseQueue } from '../../src/queue/operate/pause-queue.ts';
import { pauseWorker, resumeWorker } from '../../src/queue/operate/pause-worker.ts';
import { setWorker } from '../../src/queue/operate/set-worker.ts';
import { stopWorker } from '../../src/queue/operate/stop-worker.ts';
import { heartbeat } from '../../src/queue/protocol/heartbeat.ts';
import type { Orders } from '../../src/queue/protocol/orders.ts';
import { unregisterWorker } from '../../src/queue/protocol/register-worker.ts';
import { listenTo } from './listening.ts';
import { enqueue, rescueAll, silence, watchedWorkers } from './rows.ts';
import { useDatabase } from './session.ts';
import { LEASE_MS, registerWorker, workerOf } from './worker.ts';

const queue = useDatabase();

/** A worker's number, as operators name it. */
const register = async () => String((await registerWorker(queue.admin)).id);

describe('the list', () => {
  test('says of each what it does, newest first, and who is behind it', async () => {
    const [live, paused, stopping, silent] = [
      await register(),
      await register(),
      await register(),
      await register(),
    ];
    await pauseWorker(queue.admin, paused, { by: 'ann@host' });
    await pauseWorker(queue.admin, paused, { by: 'bob@host' });
    await stopWorker(queue.admin, stopping, { by: 'ann@host' });
    await silence(queue.admin, Number(silent), LEASE_MS + 1000);
    expect(await listWorkers(queue.admin, {}, 9)).toMatchObject([
      { id: silent, status: 'silent' },
      { id: stopping, status: 'stopping', stop_requested_by: expect.stringMatching(/^\w+ \(ann@host\)$/) },
      { id: paused, status: 'paused', paused_by: expect.stringMatching(/^\w+ \(ann@host\)$/) },
      { id: live, status: 'live', queues: null, types: ['work'], paused_at: null, stopped_at: null },
    ]);
  });

  test('lists ended workers only on request, and distinguishes lost from stopped ones', async () => {
    const [stopped, lost, live] = [await register(), await register(), await register()];
    await unregisterWorker(queue.admin, Number(stopped));
    await silence(queue.admin, Number(lost), LEASE_MS + 1000);
    await queue.admin.rows('select taskq.end_rescue(1, $1)', { watched: await watchedWorkers(queue.admin) });
    expect(await listWorkers(queue.admin, {}, 9)).toMatchObject([{ id: live }]);
    expect(await listWorkers(queue.admin, { all: true }, 9)).toMatchObject([
      { id: live, status: 'live' },
      { id: lost, status: 'lost' },
      { id: stopped, status: 'stopped' },
    ]);
  });

  test('comes in pages, and finds one by its number or its full name', async () => {
    const [first, second, third] = [await register(), await register(), await register()];
    expect(await listWorkers(queue.admin, {}, 2)).toMatchObject([{ id: third }, { id: second }]);
    expect(await listWorkers(queue.admin, {}, 2, second)).toMatchObject([{ id: first }]);
    await queue.admin.rows("update taskq.workers set name = 'host:1:' || id");
    expect(await listWorkers(queue.admin, { name: second }, 1)).toMatchObject([{ id: second }]);
    await queue.admin.rows("update taskq.workers set given_name = 'mail' where id = $1", first);
    expect(await listWorkers(queue.admin, { name: 'mail' }, 1)).toMatchObject([{ id: first }]);
    expect(await listWorkers(queue.admin, { name: `host:1:${second}` }, 1)).toMatchObject([{ id: second }]);
    expect(await listWorkers(queue.admin, { name: 'nobody:1:x' }, 1)).toEqual([]);
  });

  test('has what a worker said it holds, until it says something else', async () => {
    const id = await register();
    const beat = (counts?: { running: number; ahead: number; timedOut: number }) =>
      heartbeat(queue.admin, {
        workerId: Number(id),
        held: [],
        lease: { leaseMs: LEASE_MS },
        ...(counts && { about: { counts } }),
      });
    await beat({ running: 3, ahead: 40, timedOut: 2 });
    await beat();
    expect(await listWorkers(queue.admin, {}, 1)).toMatchObject([{ running: 3, ahead: 40, timed_out: 2 }]);
    await beat({ running: 0, ahead: 0, timedOut: 0 });
    expect(await listWorkers(queue.admin, {}, 1)).toMatchObject([{ running: 0, ahead: 0, timed_out: 0 }]);
  });
});

/** What comes with a heartbeat of a worker that holds nothing. */
async function ordersFor(id: string): Promise<Orders | undefined> {
  const beat = { workerId: Number(id), held: [], lease: { leaseMs: 30_000 } };
  const { answers, orders } = await heartbeat(queue.admin, beat);
  expect(answers).toEqual([]);
  return orders;
}

describe('an order', () => {
  test('comes with a heartbeat, and the worker is asked to send one', async () => {
    const id = await register();
    const orders = await listenTo(queue, 'taskq_orders');
    expect(await setWorker(queue.admin, id, { concurrency: 3, poll_ms: 2000, queues: ['a', 'b'] })).toBe(
      true,
    );
    expect(await pauseWorker(queue.admin, id, { by: 'ann@host' })).toBe(true);
    expect(await stopWorker(queue.admin, id, { by: 'bob@host' })).toBe(true);
    expect(await ordersFor(id)).toEqual({
      paused: true,
      pausedBy: expect.stringMatching(/^\w+ \(ann@host\)$/),
      stop: true,
      stopBy: expect.stringMatching(/^\w+ \(bob@host\)$/),
      concurrency: 3,
      pollMs: 2000,
      leaseMs: LEASE_MS,
      batch: 'auto',
      queues: ['a', 'b'],
      pausedQueues: [],
      openBreakers: [],
      followed: [],
    });
    await orders.untilReceived();
    expect(new Set(orders.received)).toEqual(new Set([id]));
  });

  test('changes only what it names; every queue is no list of queues', async () => {
    const id = await register();
    await setWorker(queue.admin, id, { concurrency: 3, poll_ms: 2000, queues: ['a'] });
    await setWorker(queue.admin, id, { poll_ms: 500 });
    expect(await ordersFor(id)).toMatchObject({
      concurrency: 3,
      pollMs: 500,
      queues: ['a'],
    });
    await setWorker(queue.admin, id, { queues: null });
    expect(await ordersFor(id)).toMatchObject({
      concurrency: 3,
      pollMs: 500,
      queues: null,
    });
    await setWorker(queue.admin, id, { batch: 500 });
    await setWorker(queue.admin, id, { lease_ms: 60_000 });
    expect(await ordersFor(id)).toMatchObject({ concurrency: 3, leaseMs: 60_000, batch: 500 });
    await setWorker(queue.admin, id, { batch: 'auto' });
    expect(await ordersFor(id)).toMatchObject({ leaseMs: 60_000, batch: 'auto' });
  });

  test('for another lease is a wish until a heartbeat of the worker says that it is in force', async () => {
    const id = await register();
    const beat = (inForceMs?: number) =>
      heartbeat(queue.admin, {
        ...{ workerId: Number(id), held: [] },
        lease: { leaseMs: LEASE_MS, ...(inForceMs && { inForceMs }) },
      });
    const leases = async () => {
      const [{ lease_ms, wanted_lease_ms } = {} as never] = await listWorkers(queue.admin, {}, 1);
      return { lease_ms, wanted_lease_ms };
    };
    await setWorker(queue.admin, id, { lease_ms: 1000 });
    await beat();
    expect(await leases()).toEqual({ lease_ms: LEASE_MS, wanted_lease_ms: 1000 });
    await silence(queue.admin, Number(id), 2000);
    expect(await listWorkers(queue.admin, {}, 1)).toMatchObject([{ status: 'live' }]);
    await beat(1000);
    expect(await leases()).toEqual({ lease_ms: 1000, wanted_lease_ms: null });
    await silence(queue.admin, Number(id), 2000);
    expect(await listWorkers(queue.admin, {}, 1)).toMatchObject([{ status: 'silent' }]);
  });

  test('a lease that ends a little too late for the shorter one in force is not taken from a live worker', async () => {
    const worker = await registerWorker(queue.admin);
    const id = await enqueue(queue.admin);
    await worker.claim();
    await queue.admin.rows("update taskq.workers set steady_since = clock_timestamp() - interval '1 day'");
    // As a heartbeat of 100 ms leaves it.
    await queue.admin.rows(
      "update taskq.tasks set lease_expires_at = clock_timestamp() + interval '1 s', started_at = clock_timestamp(), status = 'running'",
    );
    await heartbeat(queue.admin, { workerId: worker.id, held: [], lease: { leaseMs: 100, inForceMs: 100 } });
    expect(await queue.admin.rows('select from taskq.rescue(0, 1000)')).toEqual([]);
    expect(await queue.admin.value('select lease_owner from taskq.tasks where id = $1', id)).toBe(worker.id);
  });

  test('that makes no sense is refused by the database, too', async () => {
    const id = await register();
    await expect(setWorker(queue.admin, id, { concurrency: 0 })).rejects.toThrow(
      'set_worker: concurrency 0: expected a whole number from 1 to 10000',
    );
    const range = 'milliseconds, a whole number from 100 to 86400000 (a day)';
    for (const lease_ms of [99, 86_400_001, 100.5]) {
      await expect(setWorker(queue.admin, id, { lease_ms })).rejects.toMatchObject({
        code: '22023',
        message: `set_worker: lease_ms ${lease_ms}: expected ${range}`,
      });
    }
    for (const batch of [0, 10_001, 'all']) {
      await expect(setWorker(queue.admin, id, { batch } as object)).rejects.toMatchObject({
        code: '22023',
        message: `set_worker: batch ${JSON.stringify(batch)}: expected auto, or a whole number from 1 to 10000`,
      });
    }
    await expect(setWorker(queue.admin, id, { queues: [] })).rejects.toThrow('set_worker: queues []');
    for (const queues of [[null], ['a', null], [['a']], [5]]) {
      await expect(setWorker(queue.admin, id, { queues: queues as string[] })).rejects.toMatchObject({
        code: '22023',
        message: expect.stringContaining('set_worker: queues ['),
      });
    }
    await expect(setWorker(queue.admin, id, { slots: 3 } as object)).rejects.toThrow(
      'set_worker: unknown option "slots"',
    );
  });

  test('reaches no worker that has ended, and none that never was', async () => {
    const id = await register();
    await unregisterWorker(queue.admin, Number(id));
    for (const worker of [id, '999999']) {
      expect(await pauseWorker(queue.admin, worker, { by: 'ann' })).toBe(false);
      expect(await stopWorker(queue.admin, worker, { by: 'ann' })).toBe(false);
      expect(await setWorker(queue.admin, worker, { concurrency: 1 })).toBe(false);
      expect(await resumeWorker(queue.admin, worker)).toBe(false);
    }
    expect(await ordersFor('999999')).toBeUndefined();
  });

  test('a paused worker claims nothing, resumed it claims again and is woken', async () => {
    const worker = await registerWorker(queue.admin);
    const id = await enqueue(queue.admin);
    await pauseWorker(queue.admin, String(worker.id), { by: 'ann' });
    expect(await worker.claim()).toEqual([]);
    const wakes = await listenTo(queue, 'taskq_wake');
    expect(await resumeWorker(queue.admin, String(worker.id))).toBe(true);
    expect(await resumeWorker(queue.admin, String(worker.id))).toBe(false);
    await wakes.untilReceived();
    expect(await worker.claim()).toMatchObject([{ id }]);
  });

  test('all workers get the paused queues, with who, why and until when, without pauses that are over', async () => {
    const id = await register();
    const orders = await listenTo(queue, 'taskq_orders');
    await pauseQueue(queue.admin, 'mail', { by: 'ann', reason: 'deploy', forMs: null });
    await pauseQueue(queue.admin, 'over', { by: 'ann', reason: null, forMs: 60_000 });
    await queue.admin.rows(
      "update taskq.queues set paused_until = clock_timestamp() - interval '1 ms' where name = 'over'",
    );
    await orders.untilReceived();
    expect(new Set(orders.received)).toEqual(new Set(['']));
    expect((await ordersFor(id))!.pausedQueues).toEqual([
      { queue: 'mail', by: expect.stringMatching(/^\w+ \(ann\)$/), reason: 'deploy', until: null },
    ]);
  });
});

describe('what a program says of itself', () => {
  const ABOUT = { host: 'h', pid: 1, unique_part: 'u', lease_ms: 30_000, concurrency: 8, poll_ms: 500 };

  const BAD: readonly (readonly [option: string, ...values: unknown[]])[] = [
    ['lease_ms', -5, 0, 99, 86_400_001, Number.MAX_SAFE_INTEGER, '30s', 100.5, null],
    ['poll_ms', -5, 0, 9, 86_400_001, Number.MAX_SAFE_INTEGER, '1s'],
    ['concurrency', 0, 10_001, null],
    ['batch', 0, 10_001, 'auto', 1.5],
    ['queues', [], [null], 5],
    ['host', null],
    ['pid', null, 'x', 1.5],
    ['unique_part', null],
    ['types', null, [], 'work', 5],
    ['defaults', [], 5],
    ['queue_settings', [], 'x'],
  ];
  const cases = BAD.flatMap(([option, ...values]) => values.map((value) => [option, value] as const));

  test.each(cases)('is refused where %s is %j', async (option, value) => {
    const about = JSON.stringify({ ...ABOUT, types: { work: {} }, [option]: value });
    await expect(queue.admin.rows('select from taskq.register_worker($1)', about)).rejects.toMatchObject({
      code: '22023',
      message: expect.stringContaining(
        `register_worker: ${option} ${JSON.stringify(value).replace(',', ', ')}`,
      ),
    });
    expect(await listWorkers(queue.admin, {}, 9)).toEqual([]);
  });

  test('is checked for a row written by hand too, because all workers are read together', async () => {
    const id = Number(await register());
    for (const fault of [
      ...['lease_ms = 9223372036854775807', 'lease_ms = -5', 'poll_ms = 9223372036854775807'],
      ...["heartbeat_at = 'infinity'", "heartbeat_at = '-infinity'", "started_at = 'infinity'"],
      ...["leases_until = 'infinity'", "stopped_at = '-infinity'", "clock_was = 'infinity'"],
    ]) {
      await expect(
        queue.admin.rows(`update taskq.workers set ${fault} where id = $1`, id),
      ).rejects.toMatchObject({ code: '23514' });
    }
    for (const at of ['4714-11-24 00:00Z BC', '294276-12-31Z']) {
      await queue.admin.rows('update taskq.workers set heartbeat_at = $2::timestamptz where id = $1', id, at);
      expect(await queue.admin.rows('select from taskq.begin_rescue()')).toHaveLength(1);
      expect(await queue.admin.rows('select taskq.maintain()')).toHaveLength(1);
      expect(await queue.admin.rows('select taskq.stats(1000)')).toHaveLength(1);
      expect(await listWorkers(queue.admin, {}, 9)).toHaveLength(1);
    }
  });

  test('of its cursors is stored where it is an object, and stops no worker that starts later', async () => {
    const worker = await registerWorker(queue.admin);
    const beat = (cursors: unknown) =>
      queue.admin.rows("select from taskq.heartbeat($1, '{}', '{}', '{}', 60000, $2)", worker.id, {
        cursors,
      });
    const stored = () => queue.admin.value('select cursors from taskq.workers where id = $1', worker.id);
    const sane = { default: [1, 2] };
    await beat(sane);
    for (const cursors of [null, 5, 'a', [1]]) {
      await beat(cursors);
      expect(await stored()).toEqual(sane);
    }
  });
});

describe('a time longer than any worker can ask for', () => {
  const YEAR_MS = 31_536_000_000;

  test.each([
    ["select from taskq.claim(4242, '{default}', '{work}', 1, 0, $1)", 'claim: lease_ms'],
    ["select from taskq.heartbeat(4242, '{}', '{}', '{}', $1)", 'heartbeat: lease_ms'],
    ["select from taskq.mark_idle(4242, null, $1, '{work}')", 'mark_idle: _ms'],
  ])('%s is refused', async (call, message) => {
    await enqueue(queue.admin);
    for (const ms of [YEAR_MS, 9_223_372_036_854_775_807n, null]) {
      await expect(queue.admin.rows(call, ms)).rejects.toMatchObject({
        code: '22023',
        message: expect.stringContaining(`${message} ${ms}`),
      });
    }
    expect(await queue.admin.value("select count(*)::int from taskq.tasks where status = 'pending'")).toBe(1);
  });

  test('on a lease of an unknown worker is taken for one that ran out', async () => {
    const ids = [await enqueue(queue.admin), await enqueue(queue.admin)];
    await workerOf(queue.admin, 4242).claim({ start: 2 });
    await queue.admin.rows(
      `update taskq.tasks set lease_expires_at = clock_timestamp() + interval '1 year' where id = $1`,
      ids[0],
    );
    expect(await rescueAll(queue.admin)).toMatchObject([{ id: ids[0], status: 'pending' }]);
    await registerWorker(queue.admin);
    expect(await rescueAll(queue.admin)).toEqual([]);
  });
});
