import { expect, test } from 'vitest';
import { event, eventsOf, useWorkers } from './support/workers.ts';

const queue = useWorkers();

test('a worker runs, retries, gives up, times out, cancels, rescues and is drained', async () => {
  const types = 'wait,wait-apart,hello-js';
  const crashed = queue.work(['--types', types]);
  const lost = await queue.enqueue('wait', { until: ['never', 'again'] });
  await queue.saw(lost, 'start');
  crashed.kill('SIGKILL');
  await crashed.exit;

  const worker = queue.work(['--types', types]);
  const { worker_id } = await worker.waitForLog(event('worker.started'));
  const done = await queue.enqueue('hello-js');
  const retried = await queue.enqueue('wait', { ends: ['throw', 'snooze', 'return'] });
  const dead = await queue.enqueue('wait', { ends: 'throw' }, { max_attempts: 2 });
  const late = await queue.enqueue('wait', { until: 'never' }, { timeout_ms: 300, max_attempts: 1 });
  const apart = await queue.enqueue('wait-apart', { until: 'go' });
  const cancelled = await queue.enqueue('wait', { until: 'never' });
  await queue.hasStatus(done, 'completed');
  await queue.hasStatus(retried, 'completed');
  await queue.hasStatus(dead, 'dead');
  await queue.hasStatus(late, 'dead');
  await queue.saw(cancelled, 'start');
  expect(await queue.run('cancel', cancelled)).toMatchObject({ code: 0 });
  expect(await queue.task(retried)).toMatchObject({ attempts: 1, result: { run: 3 } });
  expect(await queue.task(dead)).toMatchObject({ attempts: 2, reason: 'attempts_spent' });
  expect(await queue.task(late)).toMatchObject({ error: { name: 'TimeoutError' } });
  expect(await queue.task(cancelled)).toMatchObject({ status: 'cancelled' });

  await worker.waitForLog(event('task.rescued', lost));
  await queue.saw(lost, 'start', { times: 2 });
  await queue.witness(lost, 'again');
  await queue.hasStatus(lost, 'completed');
  expect(await queue.task(lost)).toMatchObject({ losses: 1, attempts: 0 });

  expect(await queue.run('dead', 'revive', dead, '--payload', '{}')).toMatchObject({ code: 0 });
  await queue.hasStatus(dead, 'completed');
  expect(await queue.run('workers', 'stop', String(worker_id))).toMatchObject({ code: 0 });
  await worker.waitForLog(event('worker.stopping'));
  await queue.witness(apart, 'go');
  expect(await worker.exit).toEqual({ code: 0, signal: null });
  expect(await queue.task(apart)).toMatchObject({ status: 'completed' });
  expect(eventsOf(worker, 'lease.lost')).toEqual([]);
});
