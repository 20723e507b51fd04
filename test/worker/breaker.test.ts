import { expect, test } from 'vitest';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

const BREAKER = { failures: 3, within_ms: 60_000, probe_after_ms: 600_000 };
const WAITS_LONG = { backoff: { kind: 'fixed', base_ms: 3_600_000 } };

const setBreaker = () => queue.rows('select taskq.set_type($1, $2)', 'fragile', { breaker: BREAKER });
const untried = () =>
  queue.value<number>(
    "select count(*)::int from taskq.tasks where attempts = 0 and lease_owner is null and type = 'fragile'",
  );
async function letProbe() {
  // A failure that no claim has attended to yet would be the last one again.
  const unread = () =>
    queue.value<number>('select count(*)::int from taskq.breaker_events where not is_open');
  await until(
    async () => (await unread()) === 0,
    async () => String(await unread()),
  );
  await queue.rows(
    `update taskq.breakers
     set failed_at = array(select f - interval '1 hour' from unnest(failed_at) as f), probe_from = null`,
  );
}

test('stops a type whose service is down, lets one task try, and runs the rest once it succeeds', async () => {
  await setBreaker();
  await queue.enqueueSome(500, 'fragile', {}, WAITS_LONG);
  const workers = [queue.work(['--concurrency', '4']), queue.work(['--concurrency', '4'])];
  for (const worker of workers)
    expect(await worker.waitForLog(event('breaker.opened'))).toMatchObject({ type: 'fragile', ...BREAKER });
  // What ran by then has failed too.
  await until(
    async () =>
      (await queue.value('select count(*)::int from taskq.tasks where lease_owner is not null')) === 0,
    async () => JSON.stringify(await queue.counts()),
  );
  const waiting = await untried();
  expect(waiting).toBeGreaterThan(400);
  // Others are not held up.
  const other = await queue.enqueue('hello-js');
  await queue.hasStatus(other, 'completed');
  await letProbe();
  // The first probe fails.
  const failed = () => queue.value<number>('select count(*)::int from taskq.task_errors');
  await until(
    async () => (await failed()) === 500 - waiting + 1,
    async () => String(await failed()),
  );
  expect(await untried()).toBe(waiting - 1);

  await queue.witness('0', 'up');
  await letProbe();
  for (const worker of workers) await worker.waitForLog(event('breaker.closed'));
  await until(
    async () => (await untried()) === 0,
    async () => String(await untried()),
  );
  expect(await failed()).toBe(500 - waiting + 1);
  for (const worker of workers) expect(eventsOf(worker, 'breaker.opened')).toHaveLength(1);
});

test('a worker that has claimed many tasks of a type ahead gives them back at its own failures', async () => {
  await setBreaker();
  await queue.enqueueSome(100, 'fragile', {}, WAITS_LONG);
  const worker = queue.work(['--concurrency', '2', '--batch', '100']);
  await worker.waitForLog(event('breaker.opened'));
  await until(
    async () =>
      (await queue.value('select count(*)::int from taskq.tasks where lease_owner is not null')) === 0,
    async () => JSON.stringify(await queue.counts()),
  );
  expect(await untried()).toBeGreaterThan(80);
});

test('a task tries beside a backlog of others that a fixed batch keeps waiting in the worker', async () => {
  await setBreaker();
  await queue.enqueueSome(3, 'fragile', {}, WAITS_LONG);
  const worker = queue.work(['--concurrency', '2', '--batch', '40']);
  await worker.waitForLog(event('breaker.opened'));
  // So at every moment the worker holds tasks of an earlier time.
  await queue.enqueueSome(3000, 'wait-here', { ms: 20 });
  await queue.enqueueSome(3, 'fragile', {}, WAITS_LONG);
  await queue.witness('0', 'up');
  await letProbe();
  await worker.waitForLog(event('breaker.closed'));
  const others = "select count(*)::int from taskq.tasks where type = 'wait-here'";
  expect(await queue.value<number>(others)).toBeGreaterThan(0);
});

test('resume starts what waits, also behind the cursors of workers that are idle', async () => {
  await setBreaker();
  await queue.enqueueSome(50, 'fragile', {}, WAITS_LONG);
  const worker = queue.work(['--concurrency', '1', '--batch', '1']);
  await worker.waitForLog(event('breaker.opened'));
  await queue.witness('0', 'up');
  expect(await queue.run('types', 'resume', 'fragile')).toMatchObject({
    code: 0,
    stdout: 'fragile is resumed\n',
  });
  await worker.waitForLog(event('breaker.closed'));
  await until(
    async () => (await untried()) === 0,
    async () => String(await untried()),
  );
});

test('--until-idle ends, and names what is behind it', async () => {
  await setBreaker();
  await queue.enqueueSome(20, 'fragile', {}, WAITS_LONG);
  const worker = queue.work(['--until-idle', '--concurrency', '1', '--batch', '1']);
  expect(await worker.exit).toEqual({ code: 0, signal: null });
  expect(worker.logs().at(-1)).toMatchObject({ event: 'worker.stopped', left: { behind_open_breakers: 20 } });
});
