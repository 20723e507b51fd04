import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

/** Starts a worker that runs these tasks, and waits until each has started. */
async function running(ids: readonly string[], args: readonly string[] = []) {
  const worker = queue.work(args);
  for (const id of ids) await queue.saw(id, 'start');
  return worker;
}

const NOW = { code: 0, signal: null };

describe('SIGTERM', () => {
  test('lets what runs end, claims no more, gives back what only waits, and exits 0', async () => {
    const ids = await queue.enqueueSome(20, 'wait', { until: 'go' });
    const worker = await running(ids.slice(0, 5), ['--concurrency', '5', '--batch', '12', '--lease', '10s']);
    worker.kill();
    await worker.waitForLog(event('worker.stopping'));
    await until(
      async () => (await queue.value("select count(*)::int from taskq.tasks where status = 'leased'")) === 0,
      async () => JSON.stringify(await queue.counts()),
    );
    for (const id of ids) await queue.witness(id, 'go');
    expect(await worker.exit, worker.stdout()).toEqual(NOW);
    expect(await queue.counts()).toEqual({ completed: 5, pending: 15 });
    expect(
      await queue.rows('select attempts, losses, releases, lease_owner from taskq.tasks group by 1, 2, 3, 4'),
    ).toEqual([{ attempts: 0, losses: 0, releases: 0, lease_owner: null }]);
    expect(await queue.rows("select distinct task_id from witness where event = 'start'")).toHaveLength(5);
    expect(await queue.value('select stopped_at is not null from taskq.workers')).toBe(true);
  });

  test('shows the worker as stopping, and as none that could take a task', async () => {
    const id = await queue.enqueue('wait', { until: 'go' });
    const worker = await running([id]);
    worker.kill();
    const status = () => queue.value('select status from taskq.list_workers()');
    await until(
      async () => (await status()) === 'stopping',
      async () => String(await status()),
    );
    expect(
      await queue.rows("select reason, worker from taskq.find_obstacles(array['default'], array['wait'])"),
    ).toEqual([{ reason: 'workers_stopping', worker: null }]);
    expect(await queue.value("select taskq.stats(60000) -> 'workers'")).toBe(0);
    expect(await queue.task(id)).toMatchObject({ status: 'running' });
    await queue.witness(id, 'go');
    expect(await worker.exit, worker.stdout()).toEqual(NOW);
    expect(await queue.task(id)).toMatchObject({ status: 'completed' });
  });

  test('logs what ended by being given back as what it has become', async () => {
    const [tenth, cancelled, lost, plain] = await queue.enqueueSome(4, 'wait', {
      until: 'never',
      deaf: true,
    });
    const worker = queue.work(['--grace', '500ms'], { env: { TASKQ_LEASE: '30s', TASKQ_HEARTBEAT: '10s' } });
    for (const id of [tenth!, cancelled!, lost!, plain!]) await queue.saw(id, 'start');
    await queue.rows('update taskq.tasks set releases = 9 where id = $1', tenth);
    // As an operator's session writes it where no worker hears of it.
    await queue.rows(
      'update taskq.tasks set cancel_requested_at = clock_timestamp() where id = $1',
      cancelled,
    );
    await queue.rows('update taskq.tasks set lease_no = lease_no + 1 where id = $1', lost);
    worker.kill();
    await worker.exit;
    expect(eventsOf(worker, 'task.died')).toMatchObject([{ task_id: tenth, reason: 'given_back_too_often' }]);
    expect(eventsOf(worker, 'task.cancelled')).toMatchObject([{ task_id: cancelled }]);
    expect(eventsOf(worker, 'lease.lost')).toMatchObject([{ task_id: lost }]);
    expect(eventsOf(worker, 'task.given_back')).toMatchObject([{ task_id: plain }]);
    expect(eventsOf(worker, 'worker.stopped')).toMatchObject([
      { died: 1, cancelled: 1, lost: 1, given_back: 1 },
    ]);
  });

  test('gives back unburned what is not done when the grace is over, and it runs elsewhere', async () => {
    const ids = await queue.enqueueSome(4, 'wait', { until: ['never', 'go'] });
    const worker = await running(ids, ['--grace', '500ms']);
    worker.kill();
    expect(await worker.exit, worker.stdout()).toEqual(NOW);
    expect(
      await queue.rows('select attempts, losses, releases, status from taskq.tasks group by 1, 2, 3, 4'),
    ).toEqual([{ attempts: 0, losses: 0, releases: 1, status: 'pending' }]);
    for (const id of ids) {
      expect(eventsOf(worker, 'task.log', id)).toMatchObject([
        { msg: 'aborted', fields: { reason: 'shutdown' } },
      ]);
      await queue.witness(id, 'go');
    }
    await queue.work(['--until-idle']).exit;
    expect(
      await queue.rows('select attempts, releases, status::text from taskq.all_tasks group by 1, 2, 3'),
    ).toEqual([{ attempts: 0, releases: 1, status: 'completed' }]);
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('a second %s gives everything back at once and exits %d', async (signal, code) => {
    const ids = await queue.enqueueSome(3, 'wait', { until: 'go' });
    const deaf = await queue.enqueue('wait', { until: 'go', deaf: true });
    const worker = await running([...ids, deaf], ['--grace', '60s']);
    worker.kill(signal);
    await worker.waitForLog(event('worker.stopping'));
    // A signal within half a second belongs to the same Ctrl-C.
    worker.kill(signal);
    await queue.hasStatus(await queue.enqueue('nobody-knows', {}, { expires_ms: 1 }), 'pending');
    const before = performance.now();
    await sleep(600);
    worker.kill(signal);
    expect(await worker.exit).toEqual({ code, signal: null });
    expect(performance.now() - before).toBeLessThan(10_000);
    expect(
      await queue.rows('select attempts, losses, releases from taskq.tasks where id = any ($1)', [
        ...ids,
        deaf,
      ]),
    ).toEqual(Array.from({ length: 4 }, () => ({ attempts: 0, losses: 0, releases: 1 })));
  });

  test('ends a worker whose handler ignores it: the task is given back, and runs elsewhere', async () => {
    const id = await queue.enqueue('wait', { until: ['never', 'go'], deaf: true });
    const worker = await running([id], ['--grace', '300ms']);
    worker.kill();
    expect(await worker.exit, worker.stdout()).toEqual(NOW);
    expect(await queue.task(id)).toMatchObject({ status: 'pending', attempts: 0, releases: 1 });
    await queue.witness(id, 'go');
    await queue.work(['--until-idle']).exit;
    expect(await queue.task(id)).toMatchObject({ status: 'completed', attempts: 0 });
  });

  test('ends a handler in a process of its own with it', async () => {
    const id = await queue.enqueue('wait-apart', { until: 'never', deaf: true });
    const worker = await running([id], ['--grace', '300ms']);
    const [start] = await queue.witnessed(id);
    expect(start!.pid).not.toBe(worker.pid);
    worker.kill();
    expect(await worker.exit, worker.stdout()).toEqual(NOW);
    expect(await queue.task(id)).toMatchObject({ status: 'pending', attempts: 0, releases: 1 });
    await gone(start!.pid);
  });
});

test('what a claim brings that was under way at SIGTERM starts nowhere here, and is given back at once', async () => {
  const held = await queue.holdClaims();
  const ids = await queue.enqueueSome(3, 'wait', { until: 'never' });
  const worker = queue.work(['--concurrency', '2', '--lease', '30s']);
  await held.untilOneWaits();
  worker.kill();
  await worker.waitForLog(event('worker.stopping'));
  await held.release();
  expect(await worker.exit, worker.stdout()).toEqual(NOW);
  expect(await queue.counts()).toEqual({ pending: ids.length });
  expect(await queue.witnessed()).toEqual([]);
});

describe('a task that makes its worker end', () => {
  test('by SIGTERM each time is a dead letter after it was given back ten times', async () => {
    const id = await queue.enqueue('crash', { how: 'term' }, { max_attempts: 1 });
    // Skip eight of the ten turns by setting the counter.
    await queue.rows('update taskq.tasks set releases = 8 where id = $1', id);
    for (let turn = 9; turn <= 10; turn++) {
      const worker = queue.work(['--grace', '0s']);
      expect(await worker.exit, worker.stdout()).toEqual(NOW);
    }
    expect(await queue.task(id)).toMatchObject({
      status: 'dead',
      reason: 'given_back_too_often',
      attempts: 0,
      releases: 10,
    });
    expect(await queue.witnessed(id)).toHaveLength(2);
  });
});

describe('a worker that was killed', () => {
  test('loses its tasks to others, each runs once more, and no other task is disturbed', async () => {
    const [victim, ...others] = [1, 2, 3].map(() => queue.work(['--concurrency', '4', '--lease', '6s']));
    await Promise.all([victim!, ...others].map((worker) => worker.waitForLog(event('worker.started'))));
    const ids = await queue.enqueueSome(24, 'wait', { until: 'go' });
    await victim!.waitForLog(event('task.started'));
    await until(
      async () =>
        (await queue.value<number>('select count(*)::int from witness where pid = $1', victim!.pid)) > 0,
      async () => 'the victim ran nothing',
    );
    victim!.kill('SIGKILL');
    await victim!.exit;
    for (const id of ids) await queue.witness(id, 'go');
    await queue.drained();
    expect(await queue.counts()).toEqual({ completed: ids.length });
    const runs = await queue.rows<{ task_id: string; starts: number; robbed: boolean }>(
      `select task_id, count(*)::integer as starts, bool_or(pid = $1) as robbed
      from witness where event = 'start' group by 1`,
      victim!.pid,
    );
    const twice = runs.filter(({ starts }) => starts > 1);
    expect(twice.every(({ robbed, starts }) => robbed && starts === 2)).toBe(true);
    expect(twice.length).toBeGreaterThan(0);
    expect(
      await queue.rows(
        "select count(*)::integer as ends from witness where event = 'end' group by task_id having count(*) > 2",
      ),
    ).toEqual([]);
    expect(await queue.value('select max(attempts) from taskq.finished_tasks')).toBe(0);
    expect(others.flatMap((worker) => eventsOf(worker, 'task.rescued')).length).toBeGreaterThan(0);
  });

  test('takes the process of its handler with it', async () => {
    const id = await queue.enqueue('wait-apart', { until: 'never', deaf: true });
    const worker = await running([id]);
    const [start] = await queue.witnessed(id);
    worker.kill('SIGKILL');
    await gone(start!.pid);
  });
});

function gone(pid: number): Promise<void> {
  return until(
    async () => !isAlive(pid),
    async () => 'the child lives on',
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
