import { describe, expect, test } from 'vitest';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

const COUNTED = 'table (unfinished bigint, next_due_ms double precision, left_for_later jsonb)';

/** The tasks in the order they started. */
function startsOf(worker: ReturnType<typeof queue.work>): unknown[] {
  return eventsOf(worker, 'task.started').map((line) => line.task_id);
}

describe('--until-idle', () => {
  test('ends at once when there is nothing to do', async () => {
    const worker = queue.work(['--until-idle']);
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    expect(worker.logs().at(-1)).toMatchObject({ event: 'worker.stopped', completed: 0, left: {} });
  });

  test('waits for retries and snoozes, and leaves and names what is for later, paused or of other types', async () => {
    const retried = await queue.enqueue(
      'wait',
      { ends: ['throw', 'return'] },
      { backoff: { kind: 'fixed', base_ms: 700 } },
    );
    const snoozed = await queue.enqueue('wait', { ends: ['snooze', 'return'] });
    const later = await queue.enqueue('hello-js', {}, { delay_ms: 3_600_000 });
    const paused = await queue.enqueueSome(2, 'hello-js', {}, { queue: 'closed' });
    await queue.rows("select taskq.pause_queue('closed', 'a test')");
    const foreign = await queue.enqueueSome(3, 'nobody-knows');
    const worker = queue.work(['--until-idle']);
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    expect(await queue.task(retried)).toMatchObject({ status: 'completed', attempts: 1 });
    expect(await queue.task(snoozed)).toMatchObject({ status: 'completed', attempts: 0 });
    for (const id of [later, ...paused, ...foreign]) {
      expect(await queue.task(id)).toMatchObject({ status: 'pending', lease_no: 0 });
    }
    expect(worker.logs().at(-1)).toMatchObject({
      event: 'worker.stopped',
      left: { scheduled: 1, in_paused_queues: 2, of_other_types: 3 },
    });
  });

  test('says what it waits for, and ends when that is cancelled', async () => {
    const backoff = { kind: 'fixed', base_ms: 3_600_000, jitter: 0 };
    const id = await queue.enqueue('wait', { ends: ['throw', 'return'] }, { backoff });
    const worker = queue.work(['--until-idle']);
    const { tasks, due_in_ms } = await worker.waitForLog(event('worker.waiting'));
    expect(tasks).toBe(1);
    expect(due_in_ms).toBeGreaterThan(3_000_000);
    expect(due_in_ms).toBeLessThanOrEqual(3_600_000);
    await queue.rows('select taskq.cancel(array[$1::bigint])', id);
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    expect(eventsOf(worker, 'worker.waiting')).toHaveLength(1);
  });

  test('waits for what another worker is running', async () => {
    const id = await queue.enqueue('wait', { until: 'go' });
    const other = queue.work(['--lease', '30s']);
    await queue.saw(id, 'start');
    const worker = queue.work(['--until-idle']);
    await worker.waitForLog(event('worker.started'));
    const own = await queue.enqueue('hello-js');
    await worker.waitForLog(event('worker.started'));
    await queue.hasStatus(own, 'completed');
    expect(eventsOf(worker, 'worker.stopping')).toEqual([]);
    await queue.witness(id, 'go');
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    expect(eventsOf(other, 'task.completed', id)).toHaveLength(1);
  });

  test('looks only at the queues it serves', async () => {
    const here = await queue.enqueue('hello-js', {}, { queue: 'here' });
    const there = await queue.enqueue('hello-js', {}, { queue: 'there' });
    await queue.work(['--until-idle', '--queues', 'here']).exit;
    expect(await queue.task(here)).toMatchObject({ status: 'completed' });
    expect(await queue.task(there)).toMatchObject({ status: 'pending', lease_no: 0 });
  });
});

test('what was enqueued before a worker fell asleep, and commits after, is found without a hint or a poll', async () => {
  const session = await queue.session();
  await session.query('begin');
  const { rows } = await session.query<{ id: string }>(
    `select id from taskq.enqueue('hello-js', '{}', '{"allow_unknown": true}')`,
  );
  const worker = queue.work(['--poll', '1h']);
  await worker.waitForLog(event('worker.started'));
  await until(
    () => queue.value<boolean>('select exists (select from taskq.idle_marks)'),
    async () => 'the worker does not fall asleep',
  );
  await session.query('commit');
  await queue.hasStatus(rows[0]!.id, 'completed');
});

test('what was locked while claims passed it is found once it is free, without a hint or a poll', async () => {
  const [locked] = await queue.enqueueSome(1, 'hello-js');
  const session = await queue.session();
  await session.query('begin');
  await session.query("update taskq.tasks set tags = '{}'");
  const worker = queue.work(['--poll', '1h']);
  await worker.waitForLog(event('worker.started'));
  await queue.hasStatus(await queue.enqueue('hello-js'), 'completed');
  await session.query('commit');
  await queue.hasStatus(locked!, 'completed');
});

test('tasks run even if the searches for queues, missed tasks and the next due time fail', async () => {
  for (const [name, returns] of [
    ['find_queues()', 'setof text'],
    [
      'find_missed(_queues text[], _types text[], _cursor bigint[] default null)',
      'table (queue text, priority smallint, available_at_us bigint, id bigint, extra jsonb)',
    ],
    ['count_unfinished(_types text[], _queues text[] default null)', COUNTED],
  ]) {
    await queue.rows(
      `create or replace function taskq.${name} returns ${returns} language plpgsql as $$
       begin raise exception 'it takes too long' using errcode = 'query_canceled'; end $$`,
    );
  }
  const worker = queue.work(['--until-idle']);
  await worker.waitForLog(event('statement.failed'));
  // Of an enqueue that took long on a busy machine, nothing finds the task now.
  await until(
    async () => {
      await queue.enqueue('hello-js');
      return ((await queue.counts()).completed ?? 0) >= 5;
    },
    async () => JSON.stringify(await queue.counts()),
  );
  await queue.rows(`create or replace function taskq.count_unfinished(_types text[], _queues text[] default null)
    returns ${COUNTED} language sql as 'select 0::bigint, null::double precision, null::jsonb'`);
  expect(await worker.exit).toEqual({ code: 0, signal: null });
});

test('a worker that stays awake wants no hints: it is marked as idle when it sleeps, and not while it is busy', async () => {
  const worker = queue.work(['--poll', '1h', '--concurrency', '1']);
  const isMarked = () => queue.value<boolean>('select exists (select from taskq.idle_marks)');
  await worker.waitForLog(event('worker.started'));
  await until(isMarked, async () => 'the worker does not fall asleep');
  // More than a worker ever claims ahead of a slow handler.
  const ids = await queue.enqueueSome(40, 'wait', { ms: 100 });
  await queue.saw(ids[0]!, 'start');
  await until(
    async () => !(await isMarked()),
    async () => 'it is still marked',
  );
  expect(await queue.value("select exists (select from taskq.tasks where status = 'pending')")).toBe(true);
});

describe('--max-tasks', () => {
  test('--max-tasks: ends after n outcomes, claims no more than that, and exits 0', async () => {
    await queue.enqueueSome(30, 'hello-js');
    const worker = queue.work(['--max-tasks', '7', '--concurrency', '4']);
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    expect(await queue.counts()).toEqual({ completed: 7, pending: 23 });
    expect(await queue.value("select max(lease_no) from taskq.tasks where status = 'pending'")).toBe(0);
  });

  test('waits for tasks when there are too few', async () => {
    await queue.enqueue('hello-js');
    const worker = queue.work(['--max-tasks', '2']);
    await worker.waitForLog(event('task.completed'));
    await queue.enqueue('hello-js');
    expect(await worker.exit).toEqual({ code: 0, signal: null });
  });
});

describe('what is claimed', () => {
  test('--types: only these', async () => {
    const mine = await queue.enqueue('hello-js');
    const other = await queue.enqueue('wait');
    const worker = queue.work(['--until-idle', '--types', 'hello-js,block']);
    await worker.exit;
    expect(worker.logs()[0]).toMatchObject({
      event: 'worker.started',
      types: ['block', 'hello-js'],
    });
    expect(await queue.task(mine)).toMatchObject({ status: 'completed' });
    expect(await queue.task(other)).toMatchObject({ status: 'pending', lease_no: 0 });
  });

  test('by priority first, whatever the queue, and within it the oldest', async () => {
    const ids = new Map<number, string[]>();
    for (const priority of [9, 2, 0, 5]) {
      const first = await queue.enqueue('hello-js', {}, { priority, queue: 'a' });
      ids.set(priority, [first, await queue.enqueue('hello-js', {}, { priority, queue: 'a' })]);
    }
    const worker = queue.work(['--until-idle', '--concurrency', '1', '--batch', '1']);
    await worker.exit;
    expect(startsOf(worker)).toEqual([0, 2, 5, 9].flatMap((priority) => ids.get(priority)));
  });

  test('the queues in turn, so that none starves', async () => {
    const queues = ['a', 'b', 'c'];
    for (const name of queues) await queue.enqueueSome(6, 'hello-js', {}, { queue: name });
    const worker = queue.work(['--until-idle', '--concurrency', '1', '--batch', '1', '--queues', 'a,b,c']);
    await worker.exit;
    const order = eventsOf(worker, 'task.completed').map((line) => line.queue);
    // A claim that finds nothing takes its turn too.
    for (const name of queues) {
      expect(order.slice(0, 9).filter((served) => served === name).length).toBeGreaterThanOrEqual(2);
    }
  });

  test('without --queues every queue, a new one too', async () => {
    const worker = queue.work();
    await worker.waitForLog(event('worker.started'));
    for (const name of ['one', 'two']) {
      await queue.hasStatus(await queue.enqueue('hello-js', {}, { queue: name }), 'completed');
    }
  });

  test('--batch: claims n at once; tasks without a slot within a second are given back unburned', async () => {
    const ids = await queue.enqueueSome(10, 'wait', { until: 'go' });
    const worker = queue.work(['--batch', '6', '--concurrency', '2', '--lease', '10s']);
    await queue.claimed(6);
    expect(await queue.value("select count(*)::int from taskq.tasks where status = 'running'")).toBe(2);
    await worker.waitForLog(event('task.given_back'));
    expect(await queue.rows('select attempts, losses, releases from taskq.tasks group by 1, 2, 3')).toEqual([
      { attempts: 0, losses: 0, releases: 0 },
    ]);
    for (const id of ids) await queue.witness(id, 'go');
    await queue.drained();
    expect(await queue.counts()).toEqual({ completed: 10 });
  });

  test('nothing by a worker that is --paused, until it is resumed', async () => {
    const worker = queue.work(['--paused']);
    const { worker_id } = await worker.waitForLog(event('worker.started'));
    const id = await queue.enqueue('hello-js');
    await queue.hasStatus(await enqueueForAnother(), 'completed');
    expect(await queue.task(id)).toMatchObject({ status: 'pending', lease_no: 0 });
    expect(await queue.value('select taskq.resume_worker($1)', worker_id)).toBe(true);
    await queue.hasStatus(id, 'completed');
  });

  /**
   * Enqueues a task for a worker of another queue, started here; once it is taken, time has passed and tasks were
   * claimed.
   */
  async function enqueueForAnother(): Promise<string> {
    const id = await queue.enqueue('hello-js', {}, { queue: 'other' });
    queue.work(['--queues', 'other']);
    return id;
  }

  test('each task once by four workers together', async () => {
    const workers = [1, 2, 3, 4].map(() => queue.work(['--concurrency', '3', '--lease', '30s']));
    await Promise.all(workers.map((worker) => worker.waitForLog(event('worker.started'))));
    const ids = await queue.enqueueSome(300, 'wait', { ms: 2 });
    await queue.drained();
    expect(await queue.counts()).toEqual({ completed: ids.length });
    const starts = await queue.rows("select task_id from witness where event = 'start' order by task_id");
    expect(starts.map((row) => row.task_id)).toEqual(ids);
  });
});

test('a fixed batch of slow tasks is given back once where it cannot start, and not claimed again and again', async () => {
  const ids = await queue.enqueueSome(5, 'wait', { until: 'go' });
  const worker = queue.work(['--concurrency', '1', '--batch', '5']);
  const [first, ...others] = ids as [string, ...string[]];
  await queue.saw(first, 'start');
  for (const id of others) await worker.waitForLog(event('task.given_back', id));
  // Long enough to give back twice more.
  await queue.rows('select pg_sleep(3)');
  expect(eventsOf(worker, 'task.given_back')).toHaveLength(4);
  for (const id of others) expect(await queue.task(id)).toMatchObject({ status: 'pending', releases: 0 });
  for (const id of ids) await queue.witness(id, 'go');
  await queue.drained();
});
