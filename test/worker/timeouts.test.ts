import { describe, expect, test } from 'vitest';
import { event, eventsOf, useWorkers } from './support/workers.ts';

const queue = useWorkers();

describe('a timeout', () => {
  test('asks the handler to end, and is a failed attempt', async () => {
    const id = await queue.enqueue('wait', { until: ['never', 'now'] }, { timeout_ms: 4000 });
    await queue.witness(id, 'now');
    const worker = queue.work(['--until-idle']);
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    expect(await queue.errors(id)).toMatchObject([
      { attempt: 1, error: { name: 'TimeoutError', message: expect.stringContaining('4s') } },
    ]);
    expect(await queue.task(id)).toMatchObject({ status: 'completed', attempts: 1 });
    expect((await queue.witnessed(id)).map(({ event, note }) => [event, note])).toContainEqual([
      'aborted',
      'timeout',
    ]);
  });

  test('counts whatever a handler that listens returns then, and its late success too', async () => {
    const id = await queue.enqueue('wait', { ms: 900, deaf: true }, { timeout_ms: 200, max_attempts: 1 });
    await queue.work(['--until-idle', '--grace', '20s']).exit;
    expect(await queue.task(id)).toMatchObject({
      status: 'dead',
      reason: 'attempts_spent',
      error: { name: 'TimeoutError' },
    });
    expect((await queue.witnessed(id)).map(({ event }) => event)).toEqual(['start', 'end']);
  });

  test('that a handler ignores ends a worker with --max-tasks', async () => {
    await queue.enqueue('wait', { until: 'never', deaf: true }, { timeout_ms: 200, max_attempts: 1 });
    const worker = queue.work(['--max-tasks', '1', '--concurrency', '2', '--grace', '300ms']);
    expect(await worker.exit).toEqual({ code: 1, signal: null });
    expect(await queue.counts()).toEqual({ dead: 1 });
  });

  test('that a handler ignores books its slot; the others go on, then the worker retires and records it', async () => {
    const deaf = await queue.enqueue(
      'wait',
      { until: 'never', deaf: true },
      { timeout_ms: 200, max_attempts: 1, priority: 0 },
    );
    const busy = await queue.enqueue('wait', { until: 'go' });
    const worker = queue.work(['--concurrency', '2', '--grace', '300ms']);
    expect(await worker.waitForLog(event('task.abandoned'))).toMatchObject({ task_id: deaf, abandoned: 1 });
    await queue.saw(busy, 'start');
    expect(await queue.task(deaf)).toMatchObject({ status: 'running' });
    await queue.rows("update taskq.workers set heartbeat_at = heartbeat_at - interval '3 s'");
    // A heartbeat says so.
    await expect
      .poll(async () => (await queue.run('workers')).stdout)
      .toMatch(/ (live|silent), 1 timed out +2\/2 /);
    expect((await queue.run('stats')).stdout).toContain(
      '\nthe handler of wait runs past its timeout: 1 task\n',
    );
    await queue.witness(busy, 'go');
    await worker.waitForLog(event('worker.retiring'));
    expect(await worker.exit).toEqual({ code: 1, signal: null });
    expect(await queue.task(busy)).toMatchObject({ status: 'completed', attempts: 0 });
    expect(await queue.task(deaf)).toMatchObject({ status: 'dead', error: { name: 'TimeoutError' } });
    expect((await queue.witnessed(deaf)).map(({ event }) => event)).toEqual(['start']);
  });

  test('that is ignored in every slot makes the worker retire although tasks wait', async () => {
    const deaf = await queue.enqueueSome(
      2,
      'wait',
      { until: 'never', deaf: true },
      { timeout_ms: 200, max_attempts: 1, priority: 0 },
    );
    const waiting = await queue.enqueue('hello-js');
    const worker = queue.work(['--concurrency', '2', '--grace', '200ms', '--until-idle']);
    expect(await worker.exit).toEqual({ code: 1, signal: null });
    for (const id of deaf) expect(await queue.task(id)).toMatchObject({ status: 'dead' });
    expect(await queue.task(waiting)).toMatchObject({ status: 'pending', attempts: 0 });
  });

  test('ends the process of a handler that has one, however long the grace is', async () => {
    const id = await queue.enqueue(
      'wait-apart',
      { until: 'never', deaf: true },
      { timeout_ms: 1000, max_attempts: 1 },
    );
    const next = await queue.enqueue('hello-js');
    const worker = queue.work(['--until-idle', '--grace', '10m', '--concurrency', '1']);
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    expect(await queue.task(id)).toMatchObject({ status: 'dead', error: { name: 'TimeoutError' } });
    expect(await queue.task(next)).toMatchObject({ status: 'completed' });
    expect(eventsOf(worker, 'task.abandoned')).toEqual([]);
  });
});

describe('cancel, asked for by another process,', () => {
  test.each(['wait', 'wait-apart'])('ends a running task of type %s', async (type) => {
    const id = await queue.enqueue(type, { until: 'never' });
    const worker = queue.work();
    await queue.saw(id, 'start');
    expect(await queue.rows('select answer from taskq.cancel($1, $2)', [id], 'not needed')).toEqual([
      { answer: 'requested' },
    ]);
    await worker.waitForLog(event('task.cancelled', id));
    expect(await queue.task(id)).toMatchObject({
      status: 'cancelled',
      cancel_reason: 'not needed',
      attempts: 0,
    });
    expect((await queue.witnessed(id)).at(-1)).toMatchObject({ event: 'aborted', note: 'cancelled' });
  });

  test.each([
    ['its handler says', 'patient-apart', '0s'],
    ['the worker says where its handler does not', 'wait-apart', '10m'],
  ])('lets a process go on for as long as %s', async (_, patient, killAfter) => {
    const deaf = { until: 'go', deaf: true };
    const kept = await queue.enqueue(patient, deaf);
    const killed = await queue.enqueue('hasty-apart', deaf);
    const worker = queue.work(['--grace', '10m', '--kill-after', killAfter]);
    for (const id of [kept, killed]) await queue.saw(id, 'start');
    await queue.rows('select taskq.cancel($1)', [kept, killed]);
    await worker.waitForLog(({ msg, task_id }) => msg === 'aborted' && task_id === kept);
    await queue.hasStatus(killed, 'cancelled');
    expect(await queue.task(killed)).toMatchObject({ ending: 'killed' });
    // Longer than it would live if its setting were ignored.
    await queue.rows('select pg_sleep(2.5)');
    await queue.witness(kept, 'go');
    await queue.hasStatus(kept, 'completed');
  });

  test('changes nothing for a handler that succeeds', async () => {
    const id = await queue.enqueue('wait', { until: 'go', deaf: true });
    const worker = queue.work();
    await queue.saw(id, 'start');
    await queue.rows('select taskq.cancel($1)', [id]);
    await queue.witness(id, 'go');
    await worker.waitForLog(event('task.completed', id));
    expect(await queue.task(id)).toMatchObject({ status: 'completed' });
  });

  test('that a handler ignores is recorded when its worker retires, as after a timeout', async () => {
    const deaf = await queue.enqueue('wait', { until: 'never', deaf: true });
    const worker = queue.work(['--grace', '300ms']);
    await queue.saw(deaf, 'start');
    await queue.rows('select taskq.cancel($1)', [deaf]);
    expect(await worker.waitForLog(event('task.abandoned'))).toMatchObject({ task_id: deaf });
    await worker.waitForLog(event('worker.retiring'));
    expect(await worker.exit).toEqual({ code: 1, signal: null });
    expect(await queue.task(deaf)).toMatchObject({ status: 'cancelled', attempts: 0 });
  });

  test('ends one that is claimed ahead without running it, and leaves the others', async () => {
    const first = await queue.enqueue('wait', { until: 'go' }, { priority: 0 });
    const ahead = await queue.enqueue('wait', { until: 'go' });
    const other = await queue.enqueue('wait', { until: 'go' });
    const worker = queue.work(['--concurrency', '1', '--batch', '3']);
    await queue.saw(first, 'start');
    await queue.claimed(3);
    await queue.rows('select taskq.cancel($1)', [ahead]);
    await queue.hasStatus(ahead, 'cancelled');
    for (const id of [first, other]) await queue.witness(id, 'go');
    await worker.waitForLog(event('task.completed', other));
    expect(await queue.witnessed(ahead)).toEqual([]);
  });
});
