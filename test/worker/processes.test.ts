import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitUntilGone } from '../../src/embedded/processes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { event, eventsOf, useWorkers } from './support/workers.ts';

const queue = useWorkers();

describe('a process of its own', () => {
  test('runs one task after the other', async () => {
    const ids = await queue.enqueueSome(20, 'wait-apart', {});
    const worker = queue.work(['--until-idle', '--concurrency', '2']);
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    const pids = new Set<number>();
    for (const id of ids) pids.add((await queue.witnessed(id))[0]!.pid);
    expect(pids.size).toBeLessThanOrEqual(2);
    expect(pids).not.toContain(worker.pid);
  });

  test('is gone when its worker has ended', async () => {
    const id = await queue.enqueue('wait-apart', {});
    await queue.work(['--until-idle']).exit;
    const { pid } = (await queue.witnessed(id))[0]!;
    expect(await waitUntilGone([pid], 60_000)).toBe(true);
  });

  test('that dies while a handler runs has failed its attempt, also if an earlier task left what killed it', async () => {
    const leaver = await queue.enqueue('leave-behind', { what: 'exit' });
    const worker = queue.work(['--concurrency', '1']);
    await queue.hasStatus(leaver, 'completed');
    const innocent = await queue.enqueue('wait-apart', { until: ['never', 'go'] });
    await queue.saw(innocent, 'start');
    await queue.witness(leaver, 'now');
    await queue.saw(innocent, 'start', { times: 2 });
    await queue.witness(innocent, 'go');
    await queue.hasStatus(innocent, 'completed');
    const [first, second] = (await queue.witnessed(innocent)).filter(({ event }) => event === 'start');
    expect(first!.pid).toBe((await queue.witnessed(leaver))[0]!.pid);
    expect(second).not.toMatchObject({ pid: first!.pid });
    expect([first!.attempt, second!.attempt]).toEqual([1, 2]);
    expect(await queue.errors(innocent)).toMatchObject([{ attempt: 1, error: { name: 'ChildDied' } }]);
    worker.kill('SIGTERM');
    expect(await worker.exit).toEqual({ code: 0, signal: null });
  });

  test('that dies before it has taken its task burns no attempt: another takes it', async () => {
    const before = await queue.enqueue('wait-apart', {});
    const worker = queue.work(['--concurrency', '1']);
    await queue.hasStatus(before, 'completed');
    const { pid } = (await queue.witnessed(before))[0]!;
    process.kill(pid, 'SIGSTOP');
    const id = await queue.enqueue('wait-apart', {}, { max_attempts: 1 });
    await worker.waitForLog(event('task.started', id));
    process.kill(pid, 'SIGKILL');
    await queue.hasStatus(id, 'completed');
    expect(await queue.task(id)).toMatchObject({ attempts: 0, losses: 0 });
    const starts = (await queue.witnessed(id)).filter(({ event }) => event === 'start');
    expect(starts).toHaveLength(1);
    expect(starts[0]!.pid).not.toBe(pid);
    worker.kill('SIGTERM');
    expect(await worker.exit).toEqual({ code: 0, signal: null });
  });

  test('that has run other tasks runs a poison with one attempt once and no more', async () => {
    const before = await queue.enqueueSome(4, 'wait-apart', { until: 'go' });
    const worker = queue.work(['--concurrency', '4']);
    for (const id of before) await queue.saw(id, 'start');
    for (const id of before) await queue.witness(id, 'go');
    for (const id of before) await queue.hasStatus(id, 'completed');
    const poison = await queue.enqueue('crash-apart', { how: 'exit' }, { max_attempts: 1 });
    await queue.hasStatus(poison, 'dead');
    expect(await queue.witnessed(poison)).toHaveLength(1);
    worker.kill('SIGTERM');
    expect(await worker.exit).toEqual({ code: 0, signal: null });
  });

  test('in which a leftover of an earlier task throws is not used again, and no task is blamed', async () => {
    const leaver = await queue.enqueue('leave-behind', { what: 'throw' });
    const worker = queue.work(['--concurrency', '1']);
    await queue.hasStatus(leaver, 'completed');
    const innocent = await queue.enqueue('wait-apart', { until: 'go' });
    await queue.saw(innocent, 'start');
    await queue.witness(leaver, 'now');
    const line = await worker.waitForLog(
      ({ msg }) => msg === 'an operation this task left running has failed',
    );
    expect(line).toMatchObject({ task_id: leaver, fields: { error: 'left behind' } });
    await queue.witness(innocent, 'go');
    await queue.hasStatus(innocent, 'completed');
    const next = await queue.enqueue('wait-apart', {});
    await queue.hasStatus(next, 'completed');
    expect(await queue.task(innocent)).toMatchObject({ attempts: 0 });
    expect((await queue.witnessed(next))[0]!.pid).not.toBe((await queue.witnessed(innocent))[0]!.pid);
  });

  test('that a handler keeps busy forever is killed soon after its timeout, and its neighbours go on', async () => {
    const neighbour = await queue.enqueue('wait-apart', { until: 'go' });
    const here = await queue.enqueue('wait', { until: 'go' });
    const endless = await queue.enqueue('spin-apart', {}, { timeout_ms: 1000, max_attempts: 1 });
    const worker = queue.work(['--grace', '10m']);
    await queue.hasStatus(endless, 'dead');
    expect(await queue.task(endless)).toMatchObject({ attempts: 1, error: { name: 'TimeoutError' } });
    for (const id of [neighbour, here]) {
      await queue.witness(id, 'go');
      await queue.hasStatus(id, 'completed');
      expect(await queue.task(id)).toMatchObject({ attempts: 0, losses: 0 });
    }
    expect(eventsOf(worker, 'task.abandoned')).toEqual([]);
  });

  // By exit, SIGABRT and SIGSEGV they end in crashes.test.ts.
  test('that runs out of memory is a failed attempt which names it, and takes no other task with it', async () => {
    const neighbour = await queue.enqueue('wait-apart', { until: 'go' });
    const poison = await queue.enqueue('crash-apart', { how: 'memory' }, { max_attempts: 2 });
    const worker = queue.work([], { env: { NODE_OPTIONS: '--max-old-space-size=64' } });
    await queue.hasStatus(poison, 'dead');
    expect(await queue.task(poison)).toMatchObject({
      attempts: 2,
      error: { name: 'ChildDied', message: expect.stringContaining('SIGABRT') },
    });
    await queue.witness(neighbour, 'go');
    await queue.hasStatus(neighbour, 'completed');
    worker.kill('SIGTERM');
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    expect(await queue.task(neighbour)).toMatchObject({ attempts: 0, losses: 0 });
  });
});

const FOREIGN = [
  null,
  'ready',
  {},
  { kind: 'outcome' },
  { kind: 'outcome', outcome: { kind: 'completed' } },
  { kind: 'taken' },
  { kind: 'spoilt' },
  { kind: 'log', level: 'info' },
  { key: 'guessed', message: { kind: 'outcome' } },
];

describe('what a handler itself sends with process.send', () => {
  test('from a process of its own is not taken for its outcome, and harms no worker', async () => {
    const ids = await queue.enqueueSome(3, 'send-apart', { messages: FOREIGN });
    const worker = queue.work(['--until-idle', '--concurrency', '1']);
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    for (const id of ids) {
      expect(await queue.task(id)).toMatchObject({ status: 'completed', attempts: 0, result: 'its own' });
    }
  });

  test('from a worker process harms no supervisor', async () => {
    const [id] = await queue.enqueueSome(1, 'send', { messages: FOREIGN });
    const supervisor = queue.work(['--processes', '2', '--until-idle']);
    expect(await supervisor.exit).toEqual({ code: 0, signal: null });
    expect(await queue.task(id!)).toMatchObject({ status: 'completed', attempts: 0, result: 'its own' });
  });
});

describe('--isolation process', () => {
  test('passes on that a handler asks to run again', async () => {
    const handlers = await temporaryDirectory();
    const taskq = JSON.stringify(new URL('../../dist/bundled/index.js', import.meta.url).href);
    await writeFile(
      join(handlers, 'pages.mjs'),
      `import { Again } from ${taskq};
       export default ({ page }) => (page === 2 ? 'done' : new Again({ payload: { page: 2 }, result: page }));`,
    );
    const id = await queue.enqueue('pages', { page: 1 });
    await queue.work(['--until-idle', '--isolation', 'process'], { handlers }).exit;
    const ended =
      "select payload, result from taskq.all_tasks where type = 'pages' and status = 'completed' order by id";
    expect(await queue.rows(ended)).toEqual([
      { payload: { page: 1 }, result: 1 },
      { payload: { page: 2 }, result: 'done' },
    ]);
    expect(await queue.task(id)).toMatchObject({ again: null });
  });

  test('runs in processes what does not say otherwise itself', async () => {
    const [apart, here] = [await queue.enqueue('wait', {}), await queue.enqueue('wait-here', {})];
    const worker = queue.work(['--until-idle', '--isolation', 'process']);
    await worker.waitForLog(event('worker.started'));
    await worker.exit;
    expect((await queue.witnessed(apart))[0]!.pid).not.toBe(worker.pid);
    expect((await queue.witnessed(here))[0]!.pid).toBe(worker.pid);
  });

  test('is refused when it is neither inline nor process', async () => {
    const worker = queue.work(['--isolation', 'thread']);
    expect(await worker.exit).toEqual({ code: 2, signal: null });
    expect(worker.stderr()).toContain('inline or process');
  });
});
