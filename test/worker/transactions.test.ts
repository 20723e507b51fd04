import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { expect, test } from 'vitest';
import { event, eventsOf, useWorkers } from './support/workers.ts';

const queue = useWorkers();

const ENV = { TASKQ_HEARTBEAT: '1s' };

test('a task that another transaction has locked delays no other: each is recorded once, by its worker', async () => {
  const args = ['--lease', '4s'];
  const worker = queue.work([...args, '--concurrency', '4', '--queues', 'a'], { env: ENV });
  const [held, ...mates] = await queue.enqueueSome(3, 'wait', { until: 'go' }, { queue: 'a' });
  for (const id of [held!, ...mates]) await queue.saw(id, 'start');
  const other = queue.work(args, { env: ENV });
  await other.waitForLog(event('worker.started'));

  const session = await queue.session();
  await session.query('begin');
  await session.query("update taskq.tasks set progress = '1' where id = $1", [held]);
  await queue.witness(held!, 'go');
  await queue.saw(held!, 'end');
  // Longer than a lease: meanwhile the worker renews its other leases, and new tasks come and go.
  const began = performance.now();
  while (performance.now() - began < 5000) {
    const [id] = await queue.enqueueSome(1, 'hello-js', {}, { queue: 'a' });
    await queue.hasStatus(id!, 'completed');
    await sleep(200);
  }
  const renewed =
    'select bool_and(lease_expires_at > clock_timestamp()) from taskq.tasks where id = any ($1)';
  expect(await queue.value(renewed, mates)).toBe(true);
  // A request to cancel arrives too.
  await queue.rows('select taskq.cancel($1)', [mates[1]]);
  await queue.hasStatus(mates[1]!, 'cancelled');
  await queue.witness(mates[0]!, 'go');
  await queue.hasStatus(mates[0]!, 'completed');
  const before = await queue.task(held!);
  expect(before).toMatchObject({ status: 'running', losses: 0 });
  await session.query('commit');
  await worker.waitForLog(event('task.completed', held));
  expect(await queue.task(held!)).toMatchObject({
    status: 'completed',
    lease_no: before.lease_no,
    progress: 1,
    attempts: 0,
  });
  const starts = (await queue.witnessed()).filter((seen) => seen.event === 'start');
  expect(starts.map((seen) => seen.pid)).toEqual([worker.pid, worker.pid, worker.pid]);
  expect(eventsOf(worker, 'lease.lost')).toEqual([]);
  expect(eventsOf(other, 'task.rescued')).toEqual([]);
});

test('a task held locked for three leases is recorded once, by the worker that runs it, however soon a rescue comes', async () => {
  const worker = queue.work(['--lease', '30s']);
  const [running, ended] = await queue.enqueueSome(2, 'wait', { until: 'go' });
  for (const id of [running!, ended!]) await queue.saw(id, 'start');
  const session = await queue.session();
  await session.query('begin');
  await session.query(
    "update taskq.tasks set progress = '1', lease_expires_at = clock_timestamp() - interval '90 s'",
  );
  await queue.witness(ended!, 'go');
  await queue.saw(ended!, 'end');
  // In one round trip: the worker retries within a second.
  const [, rescued] = (await session.query(
    'commit; select id, status from taskq.rescue(0, 1000000)',
  )) as unknown as pg.QueryResult[];
  expect(rescued!.rows).toEqual([]);
  await worker.waitForLog(event('task.completed', ended));
  await queue.witness(running!, 'go');
  await worker.waitForLog(event('task.completed', running));
  for (const id of [running!, ended!]) {
    expect(await queue.task(id)).toMatchObject({ status: 'completed', losses: 0, progress: 1 });
    expect((await queue.witnessed(id)).filter((seen) => seen.event === 'start')).toHaveLength(1);
  }
  expect(eventsOf(worker, 'lease.lost')).toEqual([]);
});

test('what another transaction holds until the end is left to its lease, named, and run elsewhere', async () => {
  const id = await queue.enqueue('wait', { until: ['go', 'again'] });
  const worker = queue.work();
  await queue.saw(id, 'start');
  const session = await queue.session();
  await session.query('begin');
  await session.query("update taskq.tasks set progress = '1' where id = $1", [id]);
  await queue.witness(id, 'go');
  await queue.saw(id, 'end');
  worker.kill();
  expect(await worker.waitForLog(event('outcome.busy'))).toMatchObject({ task_ids: [id] });
  expect(await worker.exit).toEqual({ code: 1, signal: null });
  await session.query('rollback');
  const other = queue.work();
  await queue.saw(id, 'start', { times: 2 });
  await queue.witness(id, 'again');
  await other.waitForLog(event('task.completed', id));
  expect(await queue.task(id)).toMatchObject({ status: 'completed', attempts: 0, losses: 1 });
});

test.each([1, 2])(
  'what the database refuses to take back until the end is logged as refused, not as locked: %d tasks',
  async (count) => {
    const session = await queue.session();
    await session.query(`create function refuse_release() returns trigger language plpgsql as $$
    begin
      raise exception 'it may not be released';
    end $$`);
    await session.query(`create trigger refuse_release before update on taskq.tasks
    for each row when (old.lease_owner is not null and new.lease_owner is null) execute function refuse_release()`);
    try {
      const ids = await queue.enqueueSome(count, 'wait', { until: 'never' });
      const worker = queue.work(['--grace', '0s', '--concurrency', '4']);
      for (const id of ids) await queue.saw(id, 'start');
      worker.kill();
      expect(await worker.exit, worker.stdout()).toEqual({ code: 1, signal: null });
      expect(eventsOf(worker, 'outcome.unrecorded')).toMatchObject([{ tasks: count }]);
      expect(eventsOf(worker, 'outcome.busy')).toEqual([]);
      const [failed] = eventsOf(worker, 'statement.failed');
      expect(failed).toMatchObject({ error: { message: expect.stringContaining('it may not be released') } });
    } finally {
      await session.query('drop trigger refuse_release on taskq.tasks');
      await session.query('drop function refuse_release()');
    }
  },
);

test('tasks of transactions of 20 ms to 5 s start soon after their commit, beside other traffic or none', async () => {
  const workers = ['idle', 'busy'].map((name) => queue.work(['--queues', name]));
  await Promise.all(workers.map((worker) => worker.waitForLog(event('worker.started'))));
  const stop = new AbortController();
  const traffic = keepBusy(stop.signal);
  const waits = await Promise.all(
    ['idle', 'busy'].flatMap((name) =>
      [20, 100, 500, 1000, 2000, 3000, 5000].map((ms) => waitAfterCommit(name, ms)),
    ),
  );
  stop.abort();
  await traffic;
  // A sweep finds what a look back did not. It takes a hundredth of the time, and so comes late on a busy machine.
  expect(Math.max(...waits)).toBeLessThan(60_000);
  await queue.drained();
});

/** How many milliseconds after its commit a task starts whose transaction was open for `ms`. */
async function waitAfterCommit(name: string, ms: number): Promise<number> {
  const session = await queue.session();
  await session.query('begin');
  const { rows } = await session.query<{ id: string }>(
    "select id from taskq.enqueue('wait', '{}', jsonb_build_object('queue', $1::text, 'allow_unknown', true))",
    [name],
  );
  await sleep(ms);
  await session.query('commit');
  const committed = performance.now();
  await queue.saw(rows[0]!.id, 'start');
  return performance.now() - committed;
}

/** Enqueues a stream of tasks, so that the cursor moves past what is not committed yet. */
async function keepBusy(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await queue.enqueueSome(20, 'hello-js', {}, { queue: 'busy' });
    await sleep(10);
  }
}
