import { expect, test } from 'vitest';
import { claims, failures, useSpecification } from '../use-specification.ts';
import { begun } from '../witnesses.ts';

const s4 = useSpecification(import.meta.url);

test('a task is pending, running and completed, and its result is stored', async () => {
  const openGate = await s4.hold('app.gate');
  const { id } = await s4.enqueue('my_task', { x: 5 });
  expect(await s4.task(id)).toMatchObject({ status: 'pending', started_at: null, lease_owner: null });

  const worker = s4.work(['--until-idle']);
  await begun(s4.admin, 1);
  expect(await s4.task(id)).toMatchObject({
    status: 'running',
    started_at: expect.any(Date),
    lease_owner: expect.stringContaining(`:${worker.pid}:`),
    lease_expires_at: expect.any(Date),
    finished_at: null,
  });
  await openGate();
  await worker.exit;
  expect(await s4.task(id)).toMatchObject({
    status: 'completed',
    result: { value: 10 },
    error: null,
    finished_at: expect.any(Date),
    lease_expires_at: null,
  });
});

test('a task that always fails runs four times, after 5, 10 and 20 seconds, and is dead with its traceback', async () => {
  const { id } = await s4.enqueue('flaky_task');
  const worker = s4.work(['--until-idle']);
  for (const [attempts, delayMs] of [
    [1, 5000],
    [2, 10_000],
    [3, 20_000],
  ] as const) {
    await failures(worker, attempts);
    expect(await s4.task(id)).toMatchObject({ status: 'pending', attempts, lease_owner: null });
    expect(await s4.latestDelayMs(id)).toBe(delayMs);
    await s4.makeDue(id);
  }
  await worker.exit;
  expect(await s4.task(id)).toMatchObject({
    status: 'dead',
    attempts: 4,
    reason: 'attempts_spent',
    error: {
      name: 'TypeError',
      message: 'the service is out',
      stack: expect.stringContaining('flaky_task.mjs'),
    },
  });
});

test('a delayed task does not run before its time', async () => {
  const { stdout } = await s4.taskq(['enqueue', 'my_task', '{"x":1}', '--delay', '60s']);
  const id = stdout.trim();
  const delay =
    'select extract(epoch from available_at - created_at)::integer from taskq.tasks where id = $1';
  expect(await s4.admin.value(delay, id)).toBe(60);
  const first = await s4.taskq(['work', '--until-idle']);
  expect(first.stdout).toContain('"left":{"scheduled":1}');
  expect(await s4.task(id)).toMatchObject({ status: 'pending', started_at: null });
  await s4.makeDue(id);
  await s4.taskq(['work', '--until-idle']);
  expect(await s4.task(id)).toMatchObject({ status: 'completed', result: { value: 2 } });
});

test('an attempt that takes longer than its timeout has failed, and the task is retried', async () => {
  const { id } = await s4.enqueue('slow_task', {}, { timeout: '200ms', maxAttempts: 2 });
  const worker = s4.work(['--until-idle']);
  await failures(worker, 1);
  const error = { name: 'TimeoutError', message: 'ran longer than 200ms' };
  expect(await s4.task(id)).toMatchObject({ status: 'pending', attempts: 1, error });
  await s4.makeDue(id);
  await worker.exit;
  expect(await s4.task(id)).toMatchObject({ status: 'dead', attempts: 2, error });
});

test('the lock of a dead worker expires by itself, and a worker that lives runs the task', async () => {
  const openGate = await s4.hold('app.gate');
  const { id } = await s4.enqueue('my_task', { x: 1 });
  const dead = s4.work(['--lease', '1s']);
  await begun(s4.admin, 1);
  const alive = s4.work(['--until-idle', '--lease', '1s']);
  await claims(alive);
  dead.kill('SIGKILL');
  await openGate();
  expect(await alive.exit).toMatchObject({ code: 0 });
  expect(await s4.task(id)).toMatchObject({
    status: 'completed',
    attempts: 0,
    losses: 1,
    result: { value: 2 },
  });
});
