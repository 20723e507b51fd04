import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

test('a task that another transaction holds locked keeps nobody else: each is recorded once, by its worker', async () => {
  const worker = queue.work(['--concurrency', '4', '--queues', 'a']);
  const [held, ...mates] = await queue.enqueueSome(3, 'wait', { until: 'go' }, { queue: 'a' });
  for (const id of [held!, ...mates]) await queue.saw(id, 'start');
  const other = queue.work();
  await other.waitForLog(event('worker.started'));

  const session = await queue.session();
  await session.query('begin');
  await session.query("update taskq.tasks set progress = '1' where id = $1", [held]);
  await queue.witness(held!, 'go');
  await queue.saw(held!, 'end');
  // Four leases long: the others of the worker are renewed meanwhile, and new ones come and go.
  const began = performance.now();
  while (performance.now() - began < 8000) {
    const [id] = await queue.enqueueSome(1, 'hello-js', {}, { queue: 'a' });
    await queue.hasStatus(id!, 'completed');
    await sleep(200);
  }
  // A request to cancel is heard, too.
  await queue.rows('select taskq.cancel($1)', [mates[1]]);
  await queue.hasStatus(mates[1]!, 'cancelled');
  await queue.witness(mates[0]!, 'go');
  await queue.hasStatus(mates[0]!, 'completed');
  const before = await queue.task(held!);
  expect(before).toMatchObject({ status: 'running', lease_no: 1 });
  await session.query('commit');
  await worker.waitForLog(event('task.completed', held));
  expect(await queue.task(held!)).toMatchObject({
    status: 'completed',
    lease_no: 1,
    progress: 1,
    attempts: 0,
  });
  const starts = (await queue.witnessed()).filter((seen) => seen.event === 'start');
  expect(starts.map((seen) => seen.pid)).toEqual([worker.pid, worker.pid, worker.pid]);
  expect(eventsOf(worker, 'lease.lost')).toEqual([]);
  expect(eventsOf(other, 'task.rescued')).toEqual([]);
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

test.each([
  ['an idle worker', false],
  ['a worker with other traffic', true],
])('tasks of transactions of 20 ms to 5 s are started soon after their commit by %s', async (_, traffic) => {
  const worker = queue.work();
  await worker.waitForLog(event('worker.started'));
  const stop = new AbortController();
  const busy = traffic ? keepBusy(stop.signal) : undefined;
  const commits = await Promise.all(
    [20, 100, 500, 1000, 2000, 3000, 5000].map(async (ms) => {
      const session = await queue.session();
      await session.query('begin');
      const { rows } = await session.query<{ id: string }>("select id from taskq.enqueue('wait')");
      await sleep(ms);
      await session.query('commit');
      const committed = performance.now();
      await queue.saw(rows[0]!.id, 'start');
      return Math.round(performance.now() - committed);
    }),
  );
  stop.abort();
  await busy;
  expect(Math.max(...commits)).toBeLessThan(5000);
  await until(
    async () => (await queue.value<number>('select count(*)::integer from taskq.tasks')) === 0,
    async () => 'something is left',
  );
});

/** A stream of tasks, so that the cursor moves on past what is not committed yet. */
async function keepBusy(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await queue.enqueueSome(20, 'hello-js');
    await sleep(10);
  }
}
