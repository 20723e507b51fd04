import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { openWay } from './support/proxy.ts';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

/** The entry that a loss leaves in the history of errors; it is no failed attempt. */
const LOST = { attempt: 0, outcome: 'lost', error: { name: 'WorkerLost' } };

/** Starts a task in a worker, then stops the worker until it has been silent for longer than its lease. */
async function stoppedInTheMiddle(payload: object, type = 'wait') {
  const id = await queue.enqueue(type, payload);
  const zombie = queue.work();
  const started = await zombie.waitForLog(event('worker.started'));
  await queue.saw(id, 'start');
  zombie.kill('SIGSTOP');
  await queue.silence(started);
  return { id, zombie, started };
}

describe('a worker that was stopped for longer than its lease, its task waiting again,', () => {
  test('is notified: the signal aborts, and the task runs once more under a lease of its own', async () => {
    const { id, zombie, started } = await stoppedInTheMiddle({ until: ['never', 'again'] });
    await queue.robbed(started);
    expect(await queue.task(id)).toMatchObject({ status: 'pending', losses: 1 });
    zombie.kill('SIGCONT');
    await zombie.waitForLog(event('lease.lost', id));
    await queue.saw(id, 'start', { times: 2 });
    expect(await queue.witnessed(id)).toContainEqual(
      expect.objectContaining({ event: 'aborted', note: 'lost', pid: zombie.pid }),
    );
    await queue.witness(id, 'again');
    await zombie.waitForLog(event('task.completed', id));
    expect(await queue.task(id)).toMatchObject({
      status: 'completed',
      attempts: 0,
      losses: 1,
      result: { run: 2 },
    });
    expect(await queue.errors(id)).toMatchObject([LOST]);
    expect(eventsOf(zombie, 'lease.lost')).toHaveLength(1);
    // As /metrics has it, once a heartbeat has told.
    const lost = () =>
      queue.value<number>("select (taskq.get_sample() -> 'workers' ->> 'leases_lost')::integer");
    await until(
      async () => (await lost()) === 1,
      async () => 'no heartbeat has told of the lost lease',
    );
  });

  test('can write nothing when its handler ends with a throw', async () => {
    const { id, zombie, started } = await stoppedInTheMiddle({
      until: ['first', 'again'],
      deaf: true,
      ends: ['throw', 'return'],
    });
    await queue.robbed(started);
    await queue.witness(id, 'first');
    zombie.kill('SIGCONT');
    await zombie.waitForLog(event('lease.lost', id));
    await queue.saw(id, 'start', { times: 2 });
    expect(await queue.task(id)).toMatchObject({ attempts: 0, error: null });
    await queue.witness(id, 'again');
    await zombie.waitForLog(event('task.completed', id));
    expect(await queue.task(id)).toMatchObject({ status: 'completed', attempts: 0, result: { run: 2 } });
    expect(await queue.errors(id)).toMatchObject([LOST]);
    expect(eventsOf(zombie, 'lease.lost')).toHaveLength(1);
  });
});

test('a handler that ignores that its lease was lost is abandoned, and its worker retires', async () => {
  const id = await queue.enqueue('wait', { until: 'never', deaf: true });
  const worker = queue.work(['--grace', '300ms']);
  await queue.saw(id, 'start');
  await queue.rows("select taskq.pause_queue('default', 'a test')");
  await until(
    async () =>
      (await queue.value(
        `select answer from taskq.tasks t, taskq.give_back(
           t.lease_owner, array[t.id], array[t.lease_no], array[true]
         ) where t.id = $1`,
        id,
      )) === 'recorded',
    async () => JSON.stringify(await queue.task(id)),
  );
  expect(await worker.waitForLog(event('task.abandoned'))).toMatchObject({ task_id: id });
  expect(await worker.exit).toEqual({ code: 1, signal: null });
  expect(await queue.task(id)).toMatchObject({ status: 'pending', releases: 1, attempts: 0 });
});

describe('a worker that was stopped for longer than its lease, its task running elsewhere,', () => {
  test.each(['return', undefined])('changes nothing by a %s', async (ends) => {
    const { id, zombie } = await stoppedInTheMiddle({
      until: [ends ? 'first' : 'never', 'second'],
      deaf: [ends !== undefined, false],
      ends: [ends ?? 'return', 'return'],
    });
    const other = queue.work(['--lease', '30s']);
    await other.waitForLog(event('task.rescued', id));
    await queue.saw(id, 'start', { times: 2 });
    await queue.witness(id, 'first');
    zombie.kill('SIGCONT');
    await zombie.waitForLog(event('lease.lost', id));
    const held = await queue.task(id);
    expect(held).toMatchObject({ status: expect.stringMatching(/running|leased/), attempts: 0 });
    await queue.witness(id, 'second');
    await other.waitForLog(event('task.completed', id));
    expect(await queue.task(id)).toMatchObject({
      status: 'completed',
      lease_no: held.lease_no,
      attempts: 0,
      result: { run: 2 },
    });
    expect(await queue.errors(id)).toMatchObject([LOST]);
    expect((await queue.witnessed(id)).filter((seen) => seen.event === 'start')).toHaveLength(2);
    expect(eventsOf(zombie, 'lease.lost')).toHaveLength(1);
    expect(eventsOf(other, 'lease.lost')).toEqual([]);
  });

  test('kills the process of a handler that has one', async () => {
    const { id, zombie } = await stoppedInTheMiddle({ until: ['never', 'second'], deaf: true }, 'wait-apart');
    const [first] = await queue.witnessed(id);
    const other = queue.work(['--lease', '30s']);
    await queue.saw(id, 'start', { times: 2 });
    zombie.kill('SIGCONT');
    await zombie.waitForLog(event('lease.lost', id));
    expect(() => process.kill(first!.pid, 0)).toThrow('ESRCH');
    await queue.witness(id, 'second');
    await other.waitForLog(event('task.completed', id));
  });
});

test('workers that were stopped together take nothing from each other when they go on', async () => {
  // A worker that continues a moment earlier waits for a heartbeat interval before it rescues.
  const workers = ['a', 'b', 'c'].map((name) =>
    queue.work(['--queues', name, '--lease', '10s'], { env: { TASKQ_HEARTBEAT: '2s' } }),
  );
  const started = await Promise.all(workers.map((worker) => worker.waitForLog(event('worker.started'))));
  const ids = await Promise.all(
    ['a', 'b', 'c'].map((name) => queue.enqueue('wait', { until: 'go' }, { queue: name })),
  );
  for (const id of ids) await queue.saw(id, 'start');
  for (const worker of workers) worker.kill('SIGSTOP');
  for (const line of started) await queue.silence(line);
  // Longer than all their intervals: when they wake, everything is due at once.
  await queue.rows('select pg_sleep(4.5)');
  for (const worker of workers) worker.kill('SIGCONT');
  for (const id of ids) {
    await until(
      () =>
        queue.value<boolean>(
          'select lease_expires_at > clock_timestamp() from taskq.tasks where id = $1',
          id,
        ),
      async () => JSON.stringify(await queue.task(id)),
    );
    await queue.witness(id, 'go');
    await queue.hasStatus(id, 'completed');
    expect(await queue.task(id)).toMatchObject({ losses: 0 });
  }
  expect(workers.flatMap((worker) => eventsOf(worker, 'task.rescued'))).toEqual([]);
});

test('a worker that was stopped in the middle of a busy handler, past its timeout, lives on', async () => {
  // Part of its blocking is left when it is stopped, and when it continues.
  const id = await queue.enqueue('block', { ms: 1400 }, { timeout_ms: 200, max_attempts: 1 });
  const worker = queue.work(['--grace', '1500ms', '--lease', '30s']);
  await worker.waitForLog((line) => line.msg === 'blocks');
  worker.kill('SIGSTOP');
  // Longer than the watchdog's patience: the timeout, the grace, and two seconds.
  await queue.rows('select pg_sleep(4.2)');
  worker.kill('SIGCONT');
  await worker.waitForLog(event('task.died', id));
  expect(await queue.task(id)).toMatchObject({
    status: 'dead',
    attempts: 1,
    error: { name: 'TimeoutError' },
  });
  await queue.hasStatus(await queue.enqueue('hello-js'), 'completed');
  expect(eventsOf(worker, 'worker.unresponsive')).toEqual([]);
});

test('a worker that was stopped after a handler was asked to end gives it its grace all the same', async () => {
  const payload = { until: 'go', deaf: true };
  const id = await queue.enqueue('wait', payload, { timeout_ms: 200, max_attempts: 1 });
  const worker = queue.work(['--grace', '1500ms', '--lease', '30s']);
  await worker.waitForLog((line) => line.msg === 'aborted');
  worker.kill('SIGSTOP');
  await queue.rows('select pg_sleep(3)');
  await queue.witness(id, 'go');
  worker.kill('SIGCONT');
  await worker.waitForLog(event('task.died', id));
  await queue.hasStatus(await queue.enqueue('hello-js'), 'completed');
  expect(eventsOf(worker, 'task.abandoned')).toEqual([]);
});

test('a worker whose handler lets go of its thread while the watchdog still connects lives on', async () => {
  const way = await openWay(queue.url);
  onTestFinished(() => way.close());
  const file = join(await temporaryDirectory(), 'enough');
  const worker = queue.work(['--grace', '1500ms', '--lease', '30s'], { url: way.url });
  await worker.waitForLog(event('worker.started'));
  const connects = way.holdConnectionOf('watchdog');
  const id = await queue.enqueue('block', { file }, { timeout_ms: 200, max_attempts: 1 });
  const { closed } = await connects;
  writeFileSync(file, '');
  await worker.waitForLog(event('task.died', id));
  way.heal();
  await closed;
  await queue.hasStatus(await queue.enqueue('hello-js'), 'completed');
  expect(eventsOf(worker, 'worker.unresponsive')).toEqual([]);
});
