import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { LogLine } from '../support/start-taskq.ts';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

/** Heartbeats too rare to be what a test waits for. */
const RARE_HEARTBEATS = { TASKQ_LEASE: '90s', TASKQ_HEARTBEAT: '30s' };
const BEFORE_A_HEARTBEAT_MS = 20_000;

/** Waits until exactly this many tasks have each status. */
function counts(expected: Readonly<Record<string, number>>, limitMs?: number): Promise<void> {
  return until(
    async () => JSON.stringify(sorted(await queue.counts())) === JSON.stringify(sorted(expected)),
    async () => `expected ${JSON.stringify(expected)}: ${JSON.stringify(await queue.counts())}`,
    limitMs,
  );
}

function sorted(record: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
}

async function started(
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = RARE_HEARTBEATS,
) {
  const worker = queue.work(args, { env });
  const { worker_id } = await worker.waitForLog(event('worker.started'));
  return { worker, id: String(worker_id) };
}

function timeOf({ time }: LogLine): number {
  return Date.parse(String(time));
}

/** Enqueues a task for which no notification is sent, not even by `makeDueSilently`. */
async function enqueueUntold(type: string, payload: object = {}, options: object = {}): Promise<string> {
  const id = await queue.enqueue(type, payload, { ...options, delay_ms: 3_600_000 });
  await queue.rows("update taskq.tasks set status = 'blocked', available_at = 'infinity' where id = $1", id);
  return id;
}

const makeDueSilently = (id: string) =>
  queue.rows("update taskq.tasks set status = 'pending', available_at = clock_timestamp() where id = $1", id);

test('taskq workers shows what runs now, not what ran at the last heartbeat', async () => {
  await queue.enqueueSome(3, 'wait', { until: 'go' });
  const { id } = await started(['--concurrency', '2', '--batch', '3']);
  await counts({ running: 2, leased: 1 });
  let shown: string;
  const isNow = async () => {
    // As if the last heartbeat, three seconds ago, came before the claim.
    await queue.rows(
      "update taskq.workers set running = 0, ahead = 0, heartbeat_at = heartbeat_at - interval '3 s'",
    );
    shown = (await queue.run('workers', '--json')).stdout;
    const [worker] = JSON.parse(shown).workers;
    // What it has claimed ahead it gives back after a second, and claims again.
    return worker.id === id && worker.running === 2;
  };
  // A worker has a second to answer; on a busy machine it may need another try.
  await until(isNow, async () => shown, BEFORE_A_HEARTBEAT_MS);
});

describe('taskq workers set, on a running worker,', () => {
  test('--concurrency: it has more slots at once, and fewer when what runs has ended', async () => {
    const ids = await queue.enqueueSome(12, 'wait', { until: 'go' });
    const { worker, id } = await started(['--concurrency', '1', '--batch', '1']);
    await counts({ running: 1, pending: 11 });
    expect(await queue.run('workers', 'set', id, '--concurrency', '5')).toMatchObject({ code: 0 });
    await counts({ running: 5, pending: 7 });
    expect(await worker.waitForLog(event('worker.changed'))).toMatchObject({ concurrency: 5, queues: 'all' });
    await queue.run('workers', 'set', id, '--concurrency', '2');
    await worker.waitForLog((line) => line.event === 'worker.changed' && line.concurrency === 2);
    for (const done of ids.slice(0, 3)) await queue.witness(done, 'go');
    await counts({ completed: 3, running: 2, pending: 7 });
    await queue.witness(ids[3]!, 'go');
    await counts({ completed: 4, running: 2, pending: 6 });
  });

  test('--concurrency: what it has claimed ahead starts in the new slots', async () => {
    await queue.enqueueSome(6, 'wait', { until: 'go' });
    const { id } = await started(['--concurrency', '1', '--batch', '6']);
    await until(
      async () => (await queue.value<number>('select count(*)::int from witness')) > 0,
      async () => 'nothing starts',
    );
    await queue.run('workers', 'set', id, '--concurrency', '6');
    await until(
      async () => (await queue.value<number>('select count(*)::int from witness')) === 6,
      async () => JSON.stringify(await queue.counts()),
    );
  });

  test('--queues: it serves the others from then on, and gives back what it has claimed ahead', async () => {
    const [first, ...ahead] = await queue.enqueueSome(4, 'wait', { until: 'go' }, { queue: 'a' });
    const { worker, id } = await started(['--queues', 'a', '--concurrency', '1', '--batch', '4']);
    await queue.claimed(4);
    await queue.run('workers', 'set', id, '--queues', 'b,c');
    await counts({ running: 1, pending: 3 });
    const other = await queue.enqueue('hello-js', {}, { queue: 'c' });
    await queue.witness(first!, 'go');
    await queue.hasStatus(other, 'completed');
    expect(await queue.rows('select distinct attempts, releases, losses from taskq.tasks')).toEqual([
      { attempts: 0, releases: 0, losses: 0 },
    ]);
    for (const task of ahead) await queue.witness(task, 'go');
    await queue.run('workers', 'set', id, '--all-queues');
    await counts({ completed: 5 });
    expect(eventsOf(worker, 'worker.changed').map(({ queues }) => queues)).toEqual([['b', 'c'], 'all']);
  });

  test('--poll: it looks this often for tasks without a notification', async () => {
    const { worker, id } = await started(['--poll', '10m']);
    const untold = await enqueueUntold('hello-js');
    const retried = await queue.enqueue('hello-js', {}, { delay_ms: 3_600_000 });
    await queue.run('retry', retried);
    await queue.hasStatus(retried, 'completed', BEFORE_A_HEARTBEAT_MS);
    await queue.run('workers', 'set', id, '--poll', '200ms');
    await worker.waitForLog(event('worker.changed'));
    await makeDueSilently(untold);
    await queue.hasStatus(untold, 'completed', BEFORE_A_HEARTBEAT_MS);
  });
});

describe('taskq workers set --lease, on a running worker,', () => {
  /** Waits for this many heartbeats of any worker, calling `look` at every moment before. */
  const beats = async (count: number, look: () => Promise<void> = async () => {}) => {
    const last = () => queue.value<string>('select max(heartbeat_at)::text from taskq.workers');
    for (let seen = 0, before = await last(); seen < count; ) {
      await look();
      await sleep(10);
      const now = await last();
      if (now !== before) seen += 1;
      before = now;
    }
  };

  /** The time left on the shortest and the longest lease, in milliseconds. */
  const leases = async () => {
    const [row] = await queue.rows<{ shortest: number; longest: number }>(
      `select min(extract(epoch from left_of) * 1000)::float8 as shortest,
        max(extract(epoch from left_of) * 1000)::float8 as longest
      from (select lease_expires_at - clock_timestamp() as left_of from taskq.tasks where lease_owner is not null) as t`,
    );
    return row!;
  };

  const inForce = () => queue.value<string[]>('select array_agg(lease_ms) from taskq.workers');

  test.each([
    ['shorter', { TASKQ_LEASE: '60s', TASKQ_HEARTBEAT: '20s' }, '3s', 3000],
    ['longer', { TASKQ_LEASE: '3s', TASKQ_HEARTBEAT: '1s' }, '60s', 60_000],
  ])(
    '%s: holds for what runs and for what it claims, and beside another worker nothing is lost',
    async (_, env, text, ms) => {
      const ids = await queue.enqueueSome(5, 'wait', { until: 'go' }, { queue: 'a' });
      const { worker, id } = await started(['--queues', 'a', '--concurrency', '2', '--batch', '4'], env);
      const { worker: other } = await started(['--queues', 'b'], { TASKQ_RESCUE: '100ms' });
      await queue.claimed(4);
      expect(await queue.run('workers', 'set', id, '--lease', text, '--batch', '1')).toMatchObject({
        code: 0,
      });
      expect(await worker.waitForLog(event('worker.changed'))).toMatchObject({ lease_ms: ms, batch: 1 });
      expect(await worker.waitForLog(event('lease.changed'))).toMatchObject({ lease_ms: ms });
      await until(
        async () => (await queue.value('select lease_ms::int from taskq.workers where id = $1', id)) === ms,
        async () => `in force: ${await inForce()}`,
      );
      // For several heartbeats and rescue checks of both workers, every lease has the new length.
      await beats(6, async () => {
        const { longest, shortest } = await leases();
        expect(longest).toBeLessThanOrEqual(ms + 1000);
        if (ms === 60_000) expect(shortest).toBeGreaterThan(3000);
      });
      for (const done of ids) await queue.witness(done, 'go');
      await counts({ completed: 5 });
      expect(await queue.rows('select distinct attempts, losses from taskq.finished_tasks')).toEqual([
        { attempts: 0, losses: 0 },
      ]);
      expect((await queue.witnessed()).filter((line) => line.event === 'start')).toHaveLength(5);
      for (const one of [worker, other]) {
        expect(eventsOf(one, 'lease.lost')).toEqual([]);
        expect(eventsOf(one, 'task.rescued')).toEqual([]);
      }
    },
  );

  test('while its row is locked a shorter lease waits, and no task is lost', async () => {
    const [task] = await queue.enqueueSome(1, 'wait', { until: 'go' });
    const { worker, id } = await started([], { TASKQ_LEASE: '60s', TASKQ_HEARTBEAT: '20s' });
    await queue.hasStatus(task!, 'running');
    const session = await queue.session();
    await session.query('begin');
    await session.query('select from taskq.tasks where id = $1 for update', [task]);
    await queue.run('workers', 'set', id, '--lease', '600ms');
    await worker.waitForLog(event('worker.changed'));
    await beats(4);
    expect(await queue.value('select lease_ms::int from taskq.workers')).toBe(60_000);
    await session.query('commit');
    await worker.waitForLog(event('lease.changed'));
    await queue.witness(task!, 'go');
    await queue.hasStatus(task!, 'completed');
  });

  test('nothing is leased for longer while its own row is locked, and so not judged by the longer one', async () => {
    const { worker, id } = await started([], {});
    const session = await queue.session();
    await session.query('begin');
    await session.query('select taskq.set_worker($1, $2)', [id, { lease_ms: 60_000 }]);
    // Locked again before a heartbeat sees the order.
    await session.query('commit; begin; select from taskq.workers for update');
    await worker.waitForLog(event('worker.changed'));
    const [task] = await queue.enqueueSome(1, 'wait', { until: 'go' });
    await queue.hasStatus(task!, 'running');
    const expiry = () => queue.value<string>('select lease_expires_at::text from taskq.tasks');
    const claimed = await expiry();
    await until(
      async () => (await expiry()) !== claimed,
      async () => 'its lease is not renewed',
    );
    const { longest } = await leases();
    const known = await queue.value<number>('select lease_ms::int from taskq.workers');
    expect(longest).toBeLessThanOrEqual(known + 1000);
    await session.query('commit');
    await until(
      async () => (await queue.value('select lease_ms::int from taskq.workers')) === 60_000,
      async () => `in force: ${await inForce()}`,
    );
    await queue.witness(task!, 'go');
    await queue.hasStatus(task!, 'completed');
  });
});

describe('taskq workers pause', () => {
  test('empties what the worker has claimed ahead, unburned; what runs, runs on; resumed it goes on', async () => {
    const ids = await queue.enqueueSome(4, 'wait', { until: 'go' });
    const { worker, id } = await started(['--concurrency', '1', '--batch', '4']);
    await queue.claimed(4);
    const { stdout } = await queue.run('workers', 'pause', id);
    expect(stdout).toMatch(new RegExp(`^worker ${id} \\(.*\\) claims nothing until resumed\n$`));
    await counts({ running: 1, pending: 3 });
    expect(await worker.waitForLog(event('worker.paused'))).toMatchObject({
      by: expect.stringContaining('@'),
    });
    for (const task of ids) await queue.witness(task, 'go');
    await counts({ completed: 1, pending: 3 });
    expect(await queue.rows('select distinct attempts, releases, losses from taskq.tasks')).toEqual([
      { attempts: 0, releases: 0, losses: 0 },
    ]);
    await queue.run('workers', 'resume', id);
    await counts({ completed: 4 });
  });

  test('is in time for a slot that becomes free the moment after', async () => {
    const [first] = await queue.enqueueSome(4, 'wait', { until: 'go' });
    const { worker, id } = await started(['--concurrency', '1', '--batch', '4']);
    await queue.claimed(4);
    await queue.rows("select taskq.pause_worker($1, 'a test')", id);
    await worker.waitForLog(event('worker.paused'));
    await queue.witness(first!, 'go');
    await counts({ completed: 1, pending: 3 });
    expect(eventsOf(worker, 'task.started')).toHaveLength(1);
  });

  test('is heard of with the next heartbeat where the notification is lost', async () => {
    const { worker, id } = await started([], {});
    await queue.rows('update taskq.workers set paused_at = clock_timestamp() where id = $1', id);
    await worker.waitForLog(event('worker.paused'));
    await queue.rows('update taskq.workers set paused_at = null where id = $1', id);
    await worker.waitForLog(event('worker.resumed'));
    await queue.hasStatus(await queue.enqueue('hello-js'), 'completed');
  });
});

describe('taskq queues pause', () => {
  test('empties what was claimed ahead of that queue alone, and says who paused it and why', async () => {
    const a = await queue.enqueueSome(3, 'wait', { until: 'go' }, { queue: 'a', priority: 1 });
    const b = await queue.enqueueSome(2, 'wait', { until: 'go' }, { queue: 'b' });
    const { worker } = await started(['--concurrency', '1', '--batch', '5']);
    await queue.claimed(5);
    await queue.rows("select taskq.pause_queue('a', 'ann', 'deploy')");
    expect(await worker.waitForLog(event('queue.paused'))).toMatchObject({
      queue: 'a',
      by: expect.stringMatching(/^\w+ \(ann\)$/),
      reason: 'deploy',
      until: null,
    });
    for (const task of [...a, ...b]) await queue.witness(task, 'go');
    await counts({ completed: 3, pending: 2 });
    expect(await queue.rows('select distinct queue from taskq.tasks')).toEqual([{ queue: 'a' }]);
    // Without a free slot, claimed tasks are given back after a second anyway.
    const claimedAt = timeOf(worker.logs().find(event('task.started'))!);
    const back = b.flatMap((task) => eventsOf(worker, 'task.given_back', task));
    expect(back.filter((line) => timeOf(line) < claimedAt + 500)).toEqual([]);
    await queue.run('queues', 'resume', 'a');
    await counts({ completed: 5 });
    await worker.waitForLog(event('queue.resumed'));
  });

  test('of a queue that a worker does not serve is not in its log', async () => {
    const { worker } = await started(['--queues', 'a']);
    for (const name of ['other', 'a']) await queue.run('queues', 'pause', name);
    await worker.waitForLog(event('queue.paused'));
    for (const name of ['other', 'a']) await queue.run('queues', 'resume', name);
    await worker.waitForLog(event('queue.resumed'));
    const changes = worker.logs().filter(({ event: name }) => /^queue\./.test(String(name)));
    expect(changes.map((line) => `${line.event} ${line.queue}`)).toEqual([
      'queue.paused a',
      'queue.resumed a',
    ]);
  });

  test('--for: ends by itself, also for a worker without notifications that polls rarely', async () => {
    const { worker } = await started(['--poll', '10m']);
    await queue.run('queues', 'pause', 'a', '--for', '6s');
    await worker.waitForLog(event('queue.paused'));
    const id = await queue.enqueue('hello-js', {}, { queue: 'a' });
    await queue.hasStatus(id, 'completed', BEFORE_A_HEARTBEAT_MS);
    const paused = await queue.value<boolean>(
      'select paused_until <= f.started_at from taskq.queues, taskq.finished_tasks f',
    );
    expect(paused).toBe(true);
  });
});

describe('taskq queues set', () => {
  test('--timeout: holds for a task that a sleeping worker finds by itself', async () => {
    const id = await enqueueUntold('wait', { until: 'never' }, { max_attempts: 1 });
    const { worker } = await started(['--grace', '300ms'], { TASKQ_POLL: '100ms' });
    await queue.hasStatus(await queue.enqueue('hello-js'), 'completed');
    await queue.run('queues', 'set', 'default', '--timeout', '300ms');
    // A worker checks once a second which timeouts apply.
    for (const end = performance.now() + 1100; performance.now() < end; ) {
      await queue.hasStatus(await queue.enqueue('hello-js'), 'completed');
    }
    await makeDueSilently(id);
    expect(await worker.waitForLog(event('task.died', id))).toMatchObject({
      error: { name: 'TimeoutError' },
    });
  });
});

describe('taskq workers stop', () => {
  test('is a drain as by SIGTERM: running tasks finish, waiting ones are given back, exit 0', async () => {
    const [first] = await queue.enqueueSome(3, 'wait', { until: 'go' });
    const { worker, id } = await started(['--concurrency', '1', '--batch', '3']);
    await queue.claimed(3);
    const name = await queue.value<string>('select name from taskq.workers');
    expect(await queue.run('workers', 'stop', name)).toMatchObject({
      code: 0,
      stdout: `worker ${id} (${name}) was asked to stop\n`,
    });
    expect(await worker.waitForLog(event('worker.stopping'))).toMatchObject({
      by: expect.stringContaining('@'),
    });
    await counts({ running: 1, pending: 2 });
    await queue.witness(first!, 'go');
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    expect(await queue.counts()).toEqual({ completed: 1, pending: 2 });
    expect(await queue.value('select stopped_at is not null from taskq.workers')).toBe(true);
  });

  test('ends a worker that was paused and one that sleeps', async () => {
    const { worker, id } = await started(['--paused', '--poll', '10m']);
    await queue.run('workers', 'stop', id);
    expect(await worker.exit).toEqual({ code: 0, signal: null });
  });
});

test('a name that a worker is given is its own: its host stays what it is', async () => {
  const id = await queue.enqueue('wait', {});
  const worker = queue.work(['--name', 'mail-1', '--until-idle']);
  expect(await worker.exit).toEqual({ code: 0, signal: null });
  const { stdout } = await queue.run('workers', '--all', '--json');
  const own = expect.stringMatching(new RegExp(`^mail-1:${worker.pid}:[0-9a-f]{8}$`));
  expect(JSON.parse(stdout)).toMatchObject({
    workers: [{ name: own, given_name: 'mail-1', host: hostname(), pid: worker.pid }],
  });
  expect(await queue.task(id)).toMatchObject({ lease_owner: own });
});
