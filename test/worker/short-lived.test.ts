import { expect, test } from 'vitest';
import type { LogLine } from '../support/start-taskq.ts';
import { event, eventsOf, useWorkers } from './support/workers.ts';

const queue = useWorkers();

/** Only its first checks and its last one fall into the life of a worker. */
const TIMES = ['--lease', '3s'];
const ENV = { env: { TASKQ_HEARTBEAT: '1s', TASKQ_RESCUE: '4s' } };
/** How long a short-lived worker blocks itself: less than the heartbeat interval a check waits for after an outage. */
const LIFE_MS = 600;

/** A task held by a worker that is then killed. */
async function abandoned(): Promise<string> {
  const id = await queue.enqueue('wait', { until: ['never', 'go'] }, { queue: 'held' });
  const victim = queue.work([...TIMES, '--queues', 'held']);
  await queue.saw(id, 'start');
  victim.kill('SIGKILL');
  await victim.exit;
  return id;
}

const isRescued = async (id: string) =>
  (await queue.value<string>('select status::text from taskq.all_tasks where id = $1', id)) === 'pending';

test('where no worker lives for a lease, several together watch a killed one for long enough', async () => {
  const id = await abandoned();
  const rescued: LogLine[] = [];
  for (let lives = 0; rescued.length === 0; lives++) {
    expect(lives, 'lives of short workers').toBeLessThan(15);
    await queue.enqueue('spin', { ms: LIFE_MS }, { queue: 'short' });
    const short = queue.work([...TIMES, '--max-tasks', '1', '--queues', 'short'], ENV);
    expect(await short.exit, short.stdout()).toEqual({ code: 0, signal: null });
    rescued.push(...eventsOf(short, 'task.rescued', id));
  }
  expect(await isRescued(id)).toBe(true);
  await queue.witness(id, 'go');
  const last = queue.work([...TIMES, '--until-idle', '--queues', 'held'], ENV);
  expect(await last.exit).toEqual({ code: 0, signal: null });
  expect(await queue.task(id)).toMatchObject({ status: 'completed', losses: 1 });
});

test('workers that are killed one after the other do so too', async () => {
  const id = await abandoned();
  for (let lives = 0; !(await isRescued(id)); lives++) {
    expect(lives, 'lives of short workers').toBeLessThan(15);
    const short = queue.work([...TIMES, '--queues', 'short'], ENV);
    await short.waitForLog(event('worker.started'));
    await new Promise((resolve) => setTimeout(resolve, 2 * LIFE_MS));
    short.kill('SIGKILL');
    await short.exit;
  }
});

test('a worker whose heartbeats go on is robbed by none of them, however long a handler blocks it', async () => {
  const id = await queue.enqueue('spin', { ms: 6000 }, { queue: 'held' });
  const slow = queue.work([...TIMES, '--queues', 'held'], ENV);
  await queue.saw(id, 'start');
  while ((await queue.task(id)).status === 'running') {
    await queue.enqueue('spin', { ms: LIFE_MS }, { queue: 'short' });
    const short = queue.work([...TIMES, '--max-tasks', '1', '--queues', 'short'], ENV);
    await short.exit;
    expect(eventsOf(short, 'task.rescued')).toEqual([]);
  }
  expect(await queue.task(id)).toMatchObject({ status: 'completed', losses: 0 });
  expect(eventsOf(slow, 'lease.lost')).toEqual([]);
});

test('work --until-idle stays while a killed worker holds a task, until that is done as well', async () => {
  const id = await abandoned();
  await queue.witness(id, 'go');
  const worker = queue.work([...TIMES, '--until-idle'], ENV);
  expect(await worker.exit).toEqual({ code: 0, signal: null });
  expect(await queue.task(id)).toMatchObject({ status: 'completed', losses: 1 });
});
