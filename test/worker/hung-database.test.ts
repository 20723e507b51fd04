import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RunningTaskq } from '../support/start-taskq.ts';
import { openWay, type Way } from './support/proxy.ts';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();
let way: Way;

beforeEach(async () => {
  way = await openWay(queue.url);
});
afterEach(() => way.close());

/** What a shutdown takes at most besides the grace, as docs/production.md promises. */
const MARGIN_MS = 10_000;

/** Sends SIGTERM, and returns how the worker ended and after how long. */
async function terminated(worker: RunningTaskq) {
  const began = performance.now();
  worker.kill();
  const end = await worker.exit;
  return { end, tookMs: performance.now() - began };
}

describe('SIGTERM while the database hangs', () => {
  test('ends a worker with running tasks within the grace and ten seconds, and names the tasks', async () => {
    const ids = await queue.enqueueSome(2, 'wait', { until: 'never' });
    const worker = queue.work(['--grace', '2s', '--lease', '30s', '--concurrency', '4'], { url: way.url });
    for (const id of ids) await queue.saw(id, 'start');
    way.blackhole();
    const { end, tookMs } = await terminated(worker);
    expect(end, worker.stdout()).toEqual({ code: 1, signal: null });
    expect(tookMs).toBeLessThan(2000 + MARGIN_MS);
    expect(eventsOf(worker, 'outcome.unrecorded')).toMatchObject([{ task_ids: ids, tasks: 2 }]);
    expect(eventsOf(worker, 'outcome.busy')).toEqual([]);
    expect(eventsOf(worker, 'worker.stopped')).toHaveLength(1);
    for (const id of ids) expect(await queue.task(id)).toMatchObject({ status: 'running', attempts: 0 });
  });

  test('ends a worker that claims, and says that the claim has no answer', async () => {
    const held = await queue.holdClaims();
    await queue.enqueueSome(3, 'wait');
    const worker = queue.work(['--grace', '2s', '--lease', '30s'], { url: way.url });
    await held.untilOneWaits();
    way.blackhole();
    const { end, tookMs } = await terminated(worker);
    expect(end, worker.stdout()).toEqual({ code: 1, signal: null });
    expect(tookMs).toBeLessThan(2000 + MARGIN_MS);
    expect(eventsOf(worker, 'claim.unanswered')).toHaveLength(1);
    // Other workers have to look for what it may hold.
    expect(await queue.value('select stopped_at from taskq.workers')).toBe(null);
  });

  test.each([
    ['heartbeats', 'TASKQ_DIRECT_URL', 'DATABASE_URL'],
    ['statements', 'DATABASE_URL', 'TASKQ_DIRECT_URL'],
  ])('for its %s alone', async (_, hungUrl, wholeUrl) => {
    const id = await queue.enqueue('wait', { until: 'never' });
    const worker = queue.work(['--grace', '1s', '--lease', '30s'], {
      env: { [hungUrl]: way.url, [wholeUrl]: queue.url },
    });
    await queue.saw(id, 'start');
    way.blackhole();
    const { tookMs } = await terminated(worker);
    expect(tookMs, worker.stdout()).toBeLessThan(1000 + MARGIN_MS);
    const isLeft = hungUrl === 'DATABASE_URL';
    expect(await queue.task(id)).toMatchObject({ status: isLeft ? 'running' : 'pending', attempts: 0 });
    expect(eventsOf(worker, 'outcome.unrecorded')).toHaveLength(isLeft ? 1 : 0);
  });

  test('ends a worker that is only starting', async () => {
    way.blackhole();
    const worker = queue.work([], { url: way.url });
    await until(
      async () => way.asked() > 0,
      async () => 'it does not connect',
    );
    const { end, tookMs } = await terminated(worker);
    expect(end, worker.stdout()).toEqual({ code: 1, signal: null });
    expect(tookMs).toBeLessThan(MARGIN_MS);
  });

  test('a second signal ends it within two seconds, and the tasks are named', async () => {
    const id = await queue.enqueue('wait', { until: 'never' });
    const worker = queue.work(['--grace', '60s', '--lease', '30s'], { url: way.url });
    await queue.saw(id, 'start');
    way.blackhole();
    worker.kill();
    await worker.waitForLog(event('worker.stopping'));
    await queue.rows('select pg_sleep(0.6)'); // an earlier signal belongs to the same Ctrl-C
    const { end, tookMs } = await terminated(worker);
    expect(end, worker.stdout()).toEqual({ code: 1, signal: null });
    expect(tookMs).toBeLessThan(4000);
    expect(eventsOf(worker, 'outcome.unrecorded')).toMatchObject([{ task_ids: [id], tasks: 1 }]);
  });
});
