import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitUntilGone } from '../../src/embedded/processes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { event, eventsOf, until, useWorkers, type Witnessed } from './support/workers.ts';

const queue = useWorkers();

describe('a handler that blocks its worker', () => {
  test('for longer than its lease keeps all its tasks: heartbeats continue, and no other worker starts them', async () => {
    const id = await queue.enqueue('spin', { ms: 4500 });
    const worker = queue.work(['--lease', '3s']);
    await queue.saw(id, 'start');
    const other = queue.work();
    await queue.hasStatus(id, 'completed');
    expect(await queue.task(id)).toMatchObject({
      losses: 0,
      attempts: 0,
      result: { pid: worker.pid },
    });
    expect((await queue.witnessed(id)).map((seen) => seen.event)).toEqual(['start', 'end']);
    expect(eventsOf(other, 'task.rescued')).toEqual([]);
  });

  test('forever, past its timeout, ends it: it has timed out, and the others run elsewhere unburned', async () => {
    const ids = await queue.enqueueSome(2, 'wait', { until: ['never', 'go'] }, { queue: 'a' });
    const victim = queue.work(['--grace', '500ms', '--queues', 'a', '--concurrency', '3']);
    for (const id of ids) await queue.saw(id, 'start');
    const options = { timeout_ms: 1000, max_attempts: 1, queue: 'a' };
    const endless = await queue.enqueue('spin', {}, options);
    await queue.saw(endless, 'start');
    for (const id of ids) await queue.witness(id, 'go');
    expect(await victim.exit).toEqual({ code: null, signal: 'SIGKILL' });
    expect(await queue.task(endless)).toMatchObject({
      status: 'dead',
      attempts: 1,
      error: { name: 'TimeoutError' },
    });
    expect(victim.logs().at(-1)).toMatchObject({ event: 'worker.unresponsive', task_id: endless });
    await queue.work(['--until-idle']).exit;
    for (const id of ids) {
      expect(await queue.task(id)).toMatchObject({ status: 'completed', attempts: 0, losses: 0 });
    }
  });
});

test('a worker that has run for a while rescues the tasks of one that is killed, whatever the collector has taken', async () => {
  const handlers = await temporaryDirectory();
  await writeFile(join(handlers, 'collect.mjs'), 'export default () => globalThis.gc();');
  const env = { NODE_OPTIONS: '--expose-gc' };
  const other = queue.work([], { handlers, env });
  await other.waitForLog(event('worker.started'));
  for (let n = 0; n < 10; n++) {
    const collected = await queue.enqueue('collect', {}, { delay_ms: 100 });
    await queue.hasStatus(collected, 'completed');
  }
  const id = await queue.enqueue('wait', { until: 'never' });
  const victim = queue.work();
  await queue.saw(id, 'start');
  victim.kill('SIGKILL');
  await other.waitForLog(event('task.rescued', id));
});

test('a blocked worker whose log has lost its reader ends', async () => {
  const worker = queue.work(['--grace', '200ms']);
  const id = await queue.enqueue('spin', {}, { timeout_ms: 1000, max_attempts: 1 });
  await queue.saw(id, 'start');
  worker.closeStdout();
  expect(await worker.exit).toEqual({ code: null, signal: 'SIGKILL' });
  expect(await queue.task(id)).toMatchObject({ status: 'dead', error: { name: 'TimeoutError' } });
});

describe('the watchdog', () => {
  test('blames the one that blocks, by where it is, and not what was entered last or is late because of it', async () => {
    const ids = await queue.enqueueSome(2, 'wait', { until: ['never', 'go'] }, { timeout_ms: 4500 });
    const endless = await queue.enqueue('spin', { after: 1500 }, { timeout_ms: 3000, max_attempts: 1 });
    ids.push(await queue.enqueue('wait', { until: ['never', 'go'] }, { timeout_ms: 60_000 }));
    const victim = queue.work(['--grace', '200ms', '--concurrency', '4', '--batch', '1']);
    expect(await victim.exit).toEqual({ code: null, signal: 'SIGKILL' });
    const { error } = await queue.task(endless);
    expect(error).toMatchObject({ name: 'TimeoutError', stack: expect.stringContaining('_spin.mjs:') });
    for (const id of ids) await queue.witness(id, 'go');
    await queue.work(['--until-idle']).exit;
    for (const id of ids) expect(await queue.task(id)).toMatchObject({ status: 'completed', attempts: 0 });
  });

  test('lets a handler block as long as its own timeout allows, whatever is late meanwhile', async () => {
    const late = await queue.enqueue('wait', { until: 'never' }, { timeout_ms: 500, max_attempts: 1 });
    const slow = await queue.enqueue('spin', { after: 300, ms: 6000 });
    const worker = queue.work(['--grace', '100ms']);
    await queue.hasStatus(slow, 'completed');
    await queue.hasStatus(late, 'dead');
    expect(await queue.task(slow)).toMatchObject({ attempts: 0, losses: 0, result: { pid: worker.pid } });
    expect(eventsOf(worker, 'worker.unresponsive')).toEqual([]);
  });

  test('that cannot inspect the main thread blames the task entered last; the others are rescued as suspects', async () => {
    const other = await queue.enqueue('wait', { until: ['never', 'go'] }, { queue: 'a' });
    const victim = queue.work(['--grace', '200ms', '--queues', 'a']);
    await queue.saw(other, 'start');
    const stuck = await queue.enqueue('stuck', {}, { timeout_ms: 1000, max_attempts: 1, queue: 'a' });
    expect(await victim.exit).toEqual({ code: null, signal: 'SIGKILL' });
    expect(await queue.task(stuck)).toMatchObject({ status: 'dead', error: { name: 'TimeoutError' } });
    expect(await queue.task(other)).toMatchObject({ status: 'running', releases: 0 });
    await queue.witness(other, 'go');
    await queue.work(['--until-idle']).exit;
    expect(await queue.task(other)).toMatchObject({ status: 'completed', attempts: 0, losses: 1 });
  });
});

test('handlers that crash take down one worker each, then only their own process; innocents pay nothing', async () => {
  const ways = { exit: 'exit code 0', abort: 'SIGABRT', segv: 'SIGSEGV' };
  const poisons = new Map<string, string>();
  const innocents = await queue.enqueueSome(50, 'wait', { ms: 5 });
  for (const how of Object.keys(ways)) {
    poisons.set(how, await queue.enqueue('crash', { how }, { max_attempts: 5 }));
  }
  innocents.push(...(await queue.enqueueSome(50, 'wait', { ms: 5 })));

  let crashes = 0;
  const args = ['--until-idle', '--concurrency', '4', '--lease', '1500ms', '--batch', '20'];
  for (;;) {
    const { code, signal } = await queue.work(args).exit;
    if (code === 0 && (await queue.value('select count(*)::integer from taskq.tasks')) === 0) break;
    crashes += 1;
    expect(crashes, `${code ?? signal}`).toBeLessThanOrEqual(poisons.size);
  }
  expect(crashes).toBeGreaterThan(0);
  for (const [how, id] of poisons) {
    expect(await queue.task(id)).toMatchObject({
      status: 'dead',
      attempts: 5,
      reason: 'attempts_spent',
      error: { name: 'ChildDied', message: expect.stringContaining(ways[how as keyof typeof ways]) },
    });
    // Once in a worker, five times in a child process.
    expect((await queue.witnessed(id)).length).toBeLessThanOrEqual(6);
  }
  const ends = await queue.rows(
    'select status::text, attempts from taskq.all_tasks where id = any ($1) group by 1, 2',
    innocents,
  );
  expect(ends).toEqual([{ status: 'completed', attempts: 0 }]);
});

describe('an uncaught error', () => {
  test.each([
    ['rejection', 'a stray rejection'],
    ['timer', 'a throw in a timer'],
    ['object', '{}'],
  ])(
    '(%s) fails the task it comes from; the others finish, and the worker ends with 1',
    async (how, message) => {
      const other = await queue.enqueue('wait', { until: 'go' }, { priority: 0 });
      // Both slots are taken by then: no claim in flight can bring the task enqueued later.
      const worker = queue.work(['--concurrency', '2']);
      await queue.saw(other, 'start');
      const culprit = await queue.enqueue('stray', { how, ms: 200 }, { max_attempts: 1 });
      expect(await worker.waitForLog(event('worker.retiring'))).toMatchObject({
        task_id: culprit,
        error: {
          message: `uncaught error: ${how === 'object' ? 'an object' : message}`,
          stack: how === 'object' ? null : expect.stringContaining('handlers/stray'),
        },
      });
      const later = await queue.enqueue('hello-js');
      await queue.witness(other, 'go');
      expect(await worker.exit).toEqual({ code: 1, signal: null });
      expect(await queue.task(culprit)).toMatchObject({ status: 'dead', attempts: 1, error: { message } });
      expect(await queue.task(other)).toMatchObject({ status: 'completed', attempts: 0 });
      expect(await queue.task(later)).toMatchObject({ status: 'pending', lease_no: 0 });
    },
  );

  test('fails its task also where the handler does not end within the grace', async () => {
    const culprit = await queue.enqueue('stray', { how: 'rejection', ms: 600_000 }, { max_attempts: 1 });
    const worker = queue.work(['--grace', '300ms']);
    expect(await worker.exit).toEqual({ code: 1, signal: null });
    expect(await queue.task(culprit)).toMatchObject({
      status: 'dead',
      attempts: 1,
      error: { message: 'a stray rejection' },
    });
  });

  test('in a process of its own fails that task alone', async () => {
    const culprit = await queue.enqueue('stray', { how: 'timer', ms: 60_000 }, { max_attempts: 1 });
    await queue.rows('update taskq.tasks set losses = 1'); // a suspect
    const worker = queue.work(['--until-idle']);
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    expect(await queue.task(culprit)).toMatchObject({
      status: 'dead',
      error: { message: 'a throw in a timer' },
    });
  });
});

test('a handler in an endless loop in a process of its own ends with a killed worker, together with its children', async () => {
  const id = await queue.enqueue('spin-apart');
  const worker = queue.work();
  await queue.saw(id, 'started');
  const [{ pid, note }] = (await queue.witnessed(id)) as [Witnessed];
  worker.kill('SIGKILL');
  const areGone = await waitUntilGone([pid, note as number], 60_000);
  if (!areGone) process.kill(-pid, 'SIGKILL');
  expect(areGone).toBe(true);
});

test('a task that took two workers is the only suspect of its worker, and dead when it takes a third', async () => {
  const [twice, ...once] = await queue.enqueueSome(3, 'wait', { until: 'go' });
  await queue.rows('update taskq.tasks set losses = case when id = $1 then 2 else 1 end', twice);
  const worker = queue.work();
  const started = await worker.waitForLog(event('worker.started'));
  await until(
    async () =>
      (await queue.value<number>("select count(*)::integer from witness where event = 'start'")) === 1,
    async () => 'nothing started',
  );
  expect((await queue.witnessed())[0]!.task_id).toBe(twice);
  expect(await queue.task(twice!)).toMatchObject({ status: 'running' });
  worker.kill('SIGKILL');
  await worker.exit;
  await queue.robbed(started);
  expect(await queue.task(twice!)).toMatchObject({ status: 'dead', reason: 'worker_lost', attempts: 0 });
  for (const id of once) expect(await queue.task(id)).toMatchObject({ status: 'pending', attempts: 0 });
});

test('a suspect that must run alone completes beside a backlog', async () => {
  const [lone, ...others] = await queue.enqueueSome(200, 'hello-js');
  await queue.rows('update taskq.tasks set losses = 1, lost_ahead = 3 where id = $1', lone);
  queue.work();
  for (const id of [lone!, others.at(-1)!]) await queue.hasStatus(id, 'completed');
  await queue.drained();
});

test('a suspect that cannot be marked as running at first is kept, and runs when it can', async () => {
  const worker = queue.work(['--lease', '30s']);
  await worker.waitForLog(event('worker.started'));
  await queue.rows('alter function taskq.heartbeat rename to heartbeat_for_later');
  const id = await queue.enqueue('wait', {}, { delay_ms: 3_600_000 });
  await queue.rows('update taskq.tasks set losses = 1');
  await queue.rows('select taskq.retry(array[$1]::bigint[])', id);
  await queue.hasStatus(id, 'leased');
  await worker.waitForLog(event('statement.failed'));
  expect(await queue.witnessed(id)).toEqual([]);
  await queue.rows('alter function taskq.heartbeat_for_later rename to heartbeat');
  await queue.hasStatus(id, 'completed');
  expect(await queue.task(id)).toMatchObject({ losses: 1 });
  expect(eventsOf(worker, 'lease.lost')).toEqual([]);
});

describe('beside a task that took two workers', () => {
  test('every task runs in a process: a handler that crashes takes no other task with it', async () => {
    const twice = await queue.enqueue('wait', { until: 'go' }, { priority: 0 });
    await queue.rows('update taskq.tasks set losses = 2');
    const poisons = await queue.enqueueSome(3, 'crash', { how: 'abort' }, { max_attempts: 1 });
    const worker = queue.work();
    for (const id of poisons) await queue.hasStatus(id, 'dead');
    for (const id of poisons) {
      expect(await queue.task(id)).toMatchObject({ error: { name: 'ChildDied' }, losses: 1 });
    }
    await queue.witness(twice, 'go');
    await queue.hasStatus(twice, 'completed');
    expect(await queue.task(twice)).toMatchObject({ attempts: 0, losses: 2 });
    const next = await queue.enqueue('wait', {});
    await queue.hasStatus(next, 'completed');
    expect((await queue.witnessed(next))[0]!.pid).toBe(worker.pid);
  });

  test('nothing runs in the worker itself: it waits for what does, and the worker goes on meanwhile', async () => {
    const before = await queue.enqueue('wait', { until: 'go' });
    const worker = queue.work(['--concurrency', '3']);
    await queue.saw(before, 'start');
    const twice = await queue.enqueue('wait', {}, { priority: 0, delay_ms: 3_600_000 });
    await queue.rows('update taskq.tasks set losses = 2 where id = $1', twice);
    await queue.rows('select taskq.retry(array[$1]::bigint[])', twice);
    await queue.hasStatus(twice, 'leased');
    const beside = await queue.enqueue('wait', {});
    await queue.hasStatus(beside, 'completed');
    expect((await queue.witnessed(beside))[0]!.pid).not.toBe(worker.pid);
    expect(await queue.witnessed(twice)).toEqual([]);
    await queue.witness(before, 'go');
    await queue.hasStatus(twice, 'completed');
  });
});
