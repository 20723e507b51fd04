import { describe, expect, test } from 'vitest';
import { event, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

/** Starts a worker and waits until it runs a task of this type. */
async function running(type: string, payload: object, args: readonly string[] = [], options: object = {}) {
  const id = await queue.enqueue(type, payload, options);
  const worker = queue.work(['--grace', '300ms', ...args]);
  await queue.saw(id, 'start');
  return { id, worker };
}

const KILLED = 'cancelled: its handler did not end in time and was killed';

describe('taskq cancel, of a running task, says what became of it:', () => {
  test.each(['wait', 'wait-apart'])('it was cancelled (%s)', async (type) => {
    const { id } = await running(type, { until: 'never' }, ['--grace', '20s'], { retention: 'none' });
    expect(await queue.run('cancel', id, '--reason', 'no need')).toMatchObject({
      code: 0,
      stdout: `${id} cancelled\n`,
      stderr: '',
    });
    expect(await queue.task(id)).toMatchObject({
      status: 'cancelled',
      cancel_reason: 'no need',
      ending: null,
    });
  });

  test('it had to be killed: its process was', async () => {
    const { id, worker } = await running('wait-apart', { until: 'never', deaf: true });
    expect(await queue.run('cancel', id)).toMatchObject({ code: 0, stdout: `${id} ${KILLED}\n` });
    expect(await queue.task(id)).toMatchObject({ status: 'cancelled', ending: 'killed', attempts: 0 });
    const next = await queue.enqueue('hello-js');
    await worker.waitForLog(event('task.completed', next));
  });

  test('it had to be killed: its worker, which has nothing else to do, ended for it', async () => {
    const { id, worker } = await running('wait', { until: 'never', deaf: true });
    expect(await queue.run('cancel', id)).toMatchObject({ code: 0, stdout: `${id} ${KILLED}\n` });
    expect(await worker.waitForLog(event('task.abandoned'))).toMatchObject({ task_id: id });
    expect(await worker.exit).toEqual({ code: 1, signal: null });
    expect(await queue.task(id)).toMatchObject({ status: 'cancelled', ending: 'killed', attempts: 0 });
  });

  test('it had to be killed: it kept the event loop, and its worker was killed for it', async () => {
    const { id, worker } = await running('spin', {});
    expect(await queue.run('cancel', id)).toMatchObject({ code: 0, stdout: `${id} ${KILLED}\n` });
    expect(await worker.exit).toEqual({ code: null, signal: 'SIGKILL' });
    expect(await queue.task(id)).toMatchObject({ status: 'cancelled', ending: 'killed', attempts: 0 });
  });

  test('it had to be killed, although it had been found to be allowed to keep the event loop', async () => {
    const other = await queue.enqueue(
      'wait',
      { until: 'never', deaf: true },
      { timeout_ms: 4000, max_attempts: 1 },
    );
    const worker = queue.work(['--grace', '300ms']);
    await queue.saw(other, 'start');
    const id = await queue.enqueue('spin', {});
    await queue.saw(id, 'start');
    // By then the watchdog has lost patience with the other task, and asked which one blocks the event loop.
    await queue.rows('select pg_sleep(8)');
    expect(await queue.run('cancel', id)).toMatchObject({ code: 0, stdout: `${id} ${KILLED}\n` });
    expect(await worker.exit).toEqual({ code: null, signal: 'SIGKILL' });
    expect(await queue.task(other)).toMatchObject({ status: 'pending' });
  });

  test('it finished first, which is no success', async () => {
    const { id } = await running('wait', { until: 'go', deaf: true }, ['--grace', '20s']);
    const asked = queue.run('cancel', id);
    await until(
      async () =>
        (await queue.value('select cancel_requested_at from taskq.tasks where id = $1', id)) !== null,
      async () => 'nobody asked to cancel it',
    );
    await queue.witness(id, 'go');
    expect(await asked).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `taskq: task ${id} has completed: it finished first\n`,
    });
  });

  test('its worker was lost', async () => {
    const { id, worker } = await running('wait', { until: 'never' });
    worker.kill('SIGKILL');
    await worker.exit;
    queue.work();
    expect(await queue.run('cancel', id)).toMatchObject({
      code: 0,
      stdout: `${id} cancelled: its worker was lost\n`,
    });
  });

  test('it is still running after --wait, and with what it would end; exit 4', async () => {
    const { id } = await running('wait', { until: 'never', deaf: true }, [
      '--grace',
      '60s',
      '--lease',
      '30s',
    ]);
    const { code, stdout, stderr } = await queue.run('cancel', id, '--wait', '300ms');
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toMatch(
      /^taskq: task \d+ is still running 300ms after it was asked to end — .* taskq workers stop \d+\n$/,
    );
  });

  test('it is still running, and its worker is silent', async () => {
    const { id, worker } = await running('wait', { until: 'never' });
    worker.kill('SIGKILL');
    await worker.exit;
    // The server may still be at its last heartbeat.
    const sessions =
      "select count(*)::int from pg_stat_activity where datname = current_database() and application_name like 'taskq worker%'";
    await until(
      async () => (await queue.value<number>(sessions)) === 0,
      async () => 'its sessions have not ended',
    );
    await queue.rows("update taskq.workers set heartbeat_at = clock_timestamp() - interval '3 min'");
    const { code, stderr } = await queue.run('cancel', id, '--wait', '300ms');
    expect(code).toBe(4);
    expect(stderr).toMatch(
      / has been silent for 3m.*: the task is cancelled as soon as another worker takes over\n$/,
    );
  });
});

test('taskq cancel of some that run and some that wait answers each, all waits in one', async () => {
  const waiting = await queue.enqueue('hello-js', {}, { delay_ms: 3_600_000 });
  const { id: willing } = await running('wait', { until: 'never' }, ['--grace', '3s']);
  const deaf = await queue.enqueue('wait-apart', { until: 'never', deaf: true });
  await queue.saw(deaf, 'start');
  const { code, stdout } = await queue.run('cancel', waiting, willing, deaf, '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    ...{
      cancelled: 2,
      killed: 1,
      worker_lost: 0,
      finished_first: 0,
      still_running: 0,
      requested: 0,
      not_live: 0,
    },
    tasks: [
      { id: waiting, answer: 'cancelled', status: 'cancelled' },
      { id: willing, answer: 'cancelled', status: 'cancelled' },
      { id: deaf, answer: 'killed', status: 'cancelled' },
    ],
  });
});

test('taskq cancel --wait 0s only asks', async () => {
  // A busy machine needs a while until it looks what became of the task.
  const { id } = await running('wait', { until: 'never', deaf: true }, ['--grace', '1m', '--lease', '30s']);
  expect(await queue.run('cancel', id, '--wait', '0s')).toMatchObject({
    code: 0,
    stdout: `${id} running; its worker was asked to cancel it\n`,
  });
});
