import { describe, expect, test } from 'vitest';
import { type Cause, explainTask } from '../../src/queue/inspect/explain-task.ts';
import { enqueue, enqueueSome, lapse, makeDue, rescueAll, silence } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

const explain = async (id: string) => (await explainTask(queue.admin, id))!;
const causesOf = async (id: string): Promise<readonly Cause<string>[]> => (await explain(id)).causes;
const setWorkers = (set: string) => queue.admin.rows(`update taskq.workers set ${set}`);
const startsNow = async (id: string) => {
  const { causes, may_start_at: at } = await explain(id);
  return causes.length === 0 && Date.parse(at!) <= Date.now() + 1000;
};

test('nothing keeps a due task from a worker that is free', async () => {
  await registerWorker(queue.admin);
  const id = await enqueue(queue.admin);
  expect(await explain(id)).toMatchObject({
    id,
    queue: 'default',
    type: 'work',
    status: 'pending',
    causes: [],
  });
  expect(await startsNow(id)).toBe(true);
});

test('a task that never was has no explanation', async () => {
  expect(await explainTask(queue.admin, '999999999')).toBeUndefined();
});

describe('of its own', () => {
  test('a delay, until it is due', async () => {
    await registerWorker(queue.admin);
    const id = await enqueue(queue.admin, { delay_ms: 3_600_000 });
    const { causes, may_start_at: at } = await explain(id);
    expect(causes).toEqual([{ cause: 'delayed', until: expect.any(String) }]);
    expect(at).toBe(causes[0] && 'until' in causes[0] && causes[0].until);
    await makeDue(queue.admin, [id]);
    expect(await startsNow(id)).toBe(true);
  });

  test.each([{ retention: '30d' }, { retention: 'none' }])(
    'a wait for another attempt, with errors kept for $retention',
    async ({ retention }) => {
      await queue.admin.rows('select taskq.set_defaults($1)', { errors_retention: retention });
      const worker = await registerWorker(queue.admin);
      const id = await enqueue(queue.admin);
      await worker.settle(outcome(await claimOne(worker), 'failed', { delay_ms: 60_000 }));
      expect(await causesOf(id)).toEqual([{ cause: 'retrying', until: expect.any(String) }]);
      await makeDue(queue.admin, [id]);
      expect(await startsNow(id)).toBe(true);
    },
  );

  test('a snooze, also after an attempt that failed', async () => {
    const worker = await registerWorker(queue.admin);
    const id = await enqueue(queue.admin);
    await worker.settle(outcome(await claimOne(worker), 'failed', { delay_ms: 0 }));
    await worker.settle(outcome(await claimOne(worker), 'snoozed', { delay_ms: 60_000 }));
    expect(await causesOf(id)).toEqual([{ cause: 'snoozed', until: expect.any(String) }]);
    await queue.admin.rows("select taskq.add_dead($1, 'by hand')", id);
    await queue.admin.rows('select * from taskq.revive(array[$1::bigint], $2)', id, { delay_ms: 60_000 });
    expect(await causesOf(id)).toEqual([{ cause: 'delayed', until: expect.any(String) }]);
    await makeDue(queue.admin, [id]);
    expect(await startsNow(id)).toBe(true);
  });

  test('its expiry, before housekeeping ends it', async () => {
    await registerWorker(queue.admin);
    const id = await enqueue(queue.admin, { expires_ms: 3_600_000 });
    expect(await startsNow(id)).toBe(true);
    await queue.admin.rows("update taskq.tasks set expires_at = clock_timestamp() - interval '1 second'");
    const { causes, may_start_at: at } = await explain(id);
    expect(causes).toEqual([{ cause: 'expired', at: expect.any(String), until: null }]);
    expect(at).toBeNull();
  });

  test('a loss with its worker, until it reports for itself', async () => {
    const worker = await registerWorker(queue.admin);
    const id = await enqueue(queue.admin);
    await claimOne(worker);
    await lapse(queue.admin, [id]);
    await rescueAll(queue.admin, worker.id);
    const { causes, may_start_at: at } = await explain(id);
    expect(causes).toEqual([{ cause: 'suspect', losses: 1, alone: false }]);
    expect(at).not.toBeNull();
    await queue.admin.rows('update taskq.tasks set lost_ahead = 3');
    expect(await causesOf(id)).toEqual([{ cause: 'suspect', losses: 1, alone: true }]);
    await worker.settle(outcome(await claimOne(worker), 'snoozed', { delay_ms: 0 }));
    expect(await startsNow(id)).toBe(true);
  });
});

describe('of its queue', () => {
  test('a pause until it is resumed: who, why, since when', async () => {
    await registerWorker(queue.admin);
    const id = await enqueue(queue.admin);
    await queue.admin.rows("select taskq.pause_queue('default', 'ann', 'deploy')");
    const { causes, may_start_at: at } = await explain(id);
    const by = expect.stringContaining('ann');
    const paused = { cause: 'queue_paused', since: expect.any(String), by, reason: 'deploy' };
    expect({ causes, at }).toEqual({ causes: [{ ...paused, until: null }], at: null });
    await queue.admin.rows("select taskq.resume_queue('default')");
    expect(await startsNow(id)).toBe(true);
  });

  test('a pause for a time ends then', async () => {
    await registerWorker(queue.admin);
    const id = await enqueue(queue.admin);
    await queue.admin.rows("select taskq.pause_queue('default', _ms => 60000)");
    const { causes, may_start_at: at } = await explain(id);
    expect(causes).toMatchObject([{ cause: 'queue_paused', until: at }]);
    expect(Date.parse(at!)).toBeGreaterThan(Date.now() + 50_000);
    await queue.admin.rows("update taskq.queues set paused_until = clock_timestamp() - interval '1 second'");
    expect(await startsNow(id)).toBe(true);
  });
});

describe('of the limits of its queue', () => {
  const setQueue = (settings: object) =>
    queue.admin.rows("select taskq.set_queue('default', $1)", JSON.stringify(settings));

  test('max_running: the limit, and how many run, until one ends', async () => {
    const worker = await registerWorker(queue.admin);
    await setQueue({ max_running: 2 });
    await enqueueSome(queue.admin, 2);
    const id = await enqueue(queue.admin);
    const [first] = await worker.claim({ start: 5 });
    expect(await causesOf(id)).toEqual([{ cause: 'max_running', limit: 2, running: 2 }]);
    await worker.settle(outcome(first!, 'completed'));
    expect(await startsNow(id)).toBe(true);
  });

  test('rate: until the next task may start', async () => {
    const worker = await registerWorker(queue.admin);
    await setQueue({ rate: '2/1h' });
    const [, id] = await enqueueSome(queue.admin, 2);
    await worker.claim({ start: 5 });
    const { causes, may_start_at: at } = await explain(id!);
    expect(causes).toEqual([{ cause: 'rate', rate: '2/1h', burst: 1, until: at }]);
    expect(Date.parse(at!) - Date.now()).toBeGreaterThan(29 * 60_000);
    expect(Date.parse(at!) - Date.now()).toBeLessThanOrEqual(30 * 60_000);
    const last = await enqueue(queue.admin);
    expect(await causesOf(last)).toEqual([causes[0], { cause: 'behind', tasks: 1, more: false }]);
    await queue.admin.rows("update taskq.limit_states set used_to = used_to - interval '1 hour'");
    expect(await startsNow(id!)).toBe(true);
  });
});

describe('of its group', () => {
  const setQueue = (settings: object) =>
    queue.admin.rows("select taskq.set_queue('default', $1)", JSON.stringify(settings));
  const inGroup = (options: object = {}) => enqueue(queue.admin, { group: 'ann', ...options });

  test('rate: until it allows a slot for this task, after those that come first', async () => {
    const worker = await registerWorker(queue.admin);
    await queue.admin.rows(`select taskq.set_group('default', 'ann', '{"rate": "1/1h", "burst": 2}')`);
    const ids = [];
    for (let n = 0; n < 4; n++) ids.push(await inGroup());
    expect(await causesOf(ids[1]!)).toMatchObject([{ cause: 'behind', tasks: 1 }]);
    expect(await causesOf(ids[2]!)).toMatchObject([{ cause: 'rate', group: 'ann', rate: '1/1h', burst: 2 }]);
    await worker.claim({ start: 5 });
    for (const [nth, hours] of [
      [2, 1],
      [3, 2],
    ] as const) {
      const { causes, may_start_at: at } = await explain(ids[nth]!);
      expect(causes).toEqual([{ cause: 'rate', group: 'ann', rate: '1/1h', burst: 2, until: at }]);
      expect((Date.parse(at!) - Date.now()) / 3_600_000).toBeCloseTo(hours, 1);
    }
    await queue.admin.rows("update taskq.group_rates set used_to = used_to - interval '2 hours'");
    expect(await startsNow(ids[2]!)).toBe(true);
    await queue.admin.rows(`select taskq.set_group('default', 'ann', '{"rate": null}')`);
    expect(await causesOf(ids[3]!)).toEqual([{ cause: 'behind', tasks: 1, more: false }]);
  });
  const stop = { group: 'ann', until: null };

  test('a pause until it is resumed: who, why, since when; also of a task that has a slot', async () => {
    const worker = await registerWorker(queue.admin);
    await setQueue({ group_limit: 1 });
    const ids = [await inGroup(), await inGroup(), await inGroup({ delay_ms: 60_000 })];
    await worker.claim({ types: ['other'] });
    await queue.admin.rows("select taskq.pause_group('default', 'ann', 'bob', 'deploy')");
    const by = expect.stringContaining('bob');
    const paused = { cause: 'group_paused', ...stop, since: expect.any(String), by, reason: 'deploy' };
    for (const id of ids.slice(0, 2))
      expect(await explain(id)).toMatchObject({ may_start_at: null, causes: [paused] });
    expect(await causesOf(ids[2]!)).toMatchObject([{ cause: 'delayed' }, paused]);
    await queue.admin.rows("select taskq.resume_group('default', 'ann')");
    expect(await startsNow(ids[0]!)).toBe(true);
  });

  test('a dead letter until it is discarded', async () => {
    const worker = await registerWorker(queue.admin);
    await setQueue({ group_limit: 1, group_on_dead: 'hold' });
    const [first, second] = [await inGroup(), await inGroup()];
    await worker.settle(outcome(await claimOne(worker), 'dead', { reason: 'hopeless' }));
    expect(await explain(second)).toMatchObject({
      may_start_at: null,
      causes: [{ cause: 'group_held', ...stop, dead_task: first }],
    });
    await queue.admin.rows('select taskq.discard($1)', [first]);
    expect(await startsNow(second)).toBe(true);
  });

  test('a task that has put it off, until its time', async () => {
    const worker = await registerWorker(queue.admin);
    await setQueue({ group_limit: 1 });
    const [first, second] = [await inGroup(), await inGroup()];
    await worker.settle(outcome(await claimOne(worker), 'snoozed', { delay_ms: 60_000, hold: 'group' }));
    const { causes, may_start_at: at } = await explain(second);
    expect(causes).toEqual([{ cause: 'group_held', group: 'ann', snoozed_by: first, until: at }]);
    expect(Date.parse(at!)).toBeGreaterThan(Date.now() + 50_000);
    expect(await causesOf(first)).toEqual([{ cause: 'snoozed', until: at }]);
    await queue.admin.rows("select taskq.pause_group('default', 'ann')");
    expect(await explain(first)).toMatchObject({
      may_start_at: null,
      causes: [{ cause: 'snoozed' }, { cause: 'group_paused' }],
    });
    await queue.admin.rows("select taskq.resume_group('default', 'ann')");
    await queue.admin.rows('select taskq.cancel($1)', [first]);
    expect(await startsNow(second)).toBe(true);
  });

  test('others that have its slots, and those that come first', async () => {
    const worker = await registerWorker(queue.admin);
    await setQueue({ group_limit: 2 });
    const ids = await enqueueSome(queue.admin, 4, { group: 'ann' });
    const full = { cause: 'group_full', group: 'ann', limit: 2, until: null };
    expect(await startsNow(ids[0]!)).toBe(true);
    expect(await causesOf(ids[1]!)).toEqual([{ cause: 'behind', tasks: 1, more: false }]);
    expect(await causesOf(ids[2]!)).toEqual([{ ...full, holders: [], first: 2 }]);
    const held = await worker.claim({ start: 2 });
    expect(await causesOf(ids[2]!)).toEqual([{ ...full, holders: ids.slice(0, 2), first: 0 }]);
    expect(await causesOf(ids[3]!)).toEqual([{ ...full, holders: ids.slice(0, 2), first: 1 }]);
    await worker.settle(...held.map((task) => outcome(task, 'completed')));
    expect(await startsNow(ids[2]!)).toBe(true);
  });

  test('the slots that no worker has claimed, where the group has a rate and no limit', async () => {
    const worker = await registerWorker(queue.admin);
    await setQueue({ group_rate: '1000/1s', group_burst: 2 });
    const ids = [await inGroup(), await inGroup(), await inGroup()];
    await worker.claim({ types: ['other'] });
    expect(await causesOf(ids[2]!)).toEqual([
      { cause: 'group_full', group: 'ann', limit: 2, holders: ids.slice(0, 2), first: 0, until: null },
    ]);
    await worker.claim({ start: 2 });
    await queue.admin.rows('select pg_sleep(0.01)');
    expect(await startsNow(ids[2]!)).toBe(true);
  });

  test('a slot that waits for its retry is not free before; one that has not started goes to the more urgent', async () => {
    const worker = await registerWorker(queue.admin);
    await setQueue({ group_limit: 1 });
    const [first, second] = [await inGroup(), await inGroup()];
    await worker.settle(outcome(await claimOne(worker), 'failed', { delay_ms: 60_000 }));
    const { causes, may_start_at: at } = await explain(second);
    expect(causes).toEqual([
      { cause: 'group_full', group: 'ann', limit: 1, holders: [first], first: 0, until: at },
    ]);
    expect(Date.parse(at!)).toBeGreaterThan(Date.now() + 50_000);
    await queue.admin.rows('select taskq.cancel($1)', [first]);
    await worker.claim({ types: ['other'] });
    expect(await startsNow(await inGroup({ priority: 0 }))).toBe(true);
  });
});

describe('of the workers', () => {
  test('that none is there, or all are silent', async () => {
    const id = await enqueue(queue.admin);
    expect(await explain(id)).toMatchObject({
      may_start_at: null,
      causes: [{ cause: 'no_worker', worker: null, until: null }],
    });
    const worker = await registerWorker(queue.admin);
    expect(await startsNow(id)).toBe(true);
    await silence(queue.admin, worker.id, 60_000);
    expect(await causesOf(id)).toMatchObject([{ cause: 'no_worker' }]);
  });

  test('that all are stopping', async () => {
    await registerWorker(queue.admin);
    const id = await enqueue(queue.admin);
    await setWorkers('stop_requested_at = clock_timestamp()');
    expect(await causesOf(id)).toMatchObject([{ cause: 'workers_stopping' }]);
    await setWorkers('stop_requested_at = null');
    expect(await startsNow(id)).toBe(true);
  });

  test('that none serves the queue, none handles the type, or none does both', async () => {
    await registerWorker(queue.admin, { other: {} });
    const id = await enqueue(queue.admin);
    expect(await causesOf(id)).toMatchObject([{ cause: 'type_unhandled' }]);
    await setWorkers("queues = '{mail}'");
    expect(await causesOf(id)).toMatchObject([{ cause: 'queue_unserved' }]);
    await queue.admin.rows(
      `insert into taskq.workers (id, name, host, pid, unique_part, started_at, heartbeat_at, lease_ms, concurrency,
         queues, types)
       select place, 'w', 'h', 1, 'b', started_at, heartbeat_at, lease_ms, 1, array[serves], array[handles]
       from taskq.workers, (values (1, 'default', 'other'), (2, 'mail', 'work')) as v (place, serves, handles)`,
    );
    expect(await causesOf(id)).toMatchObject([{ cause: 'pair_unserved' }]);
    await setWorkers("queues = null, types = '{work}'");
    expect(await startsNow(id)).toBe(true);
  });

  test('that the only one is paused', async () => {
    const worker = await registerWorker(queue.admin);
    const id = await enqueue(queue.admin);
    await queue.admin.rows('select taskq.pause_worker($1)', worker.id);
    expect(await causesOf(id)).toEqual([{ cause: 'worker_paused', worker: worker.id, until: null }]);
    await queue.admin.rows('select taskq.resume_worker($1)', worker.id);
    expect(await startsNow(id)).toBe(true);
  });

  test('that their slots are in use', async () => {
    await registerWorker(queue.admin);
    const id = await enqueue(queue.admin);
    await setWorkers('running = 8');
    const { causes, may_start_at: at } = await explain(id);
    expect(causes).toEqual([{ cause: 'slots_busy', workers: 1, slots: 8 }]);
    expect(at).not.toBeNull();
    await setWorkers('running = 7');
    expect(await startsNow(id)).toBe(true);
  });
});

describe('another transaction', () => {
  test('that keeps its row locked, until it ends', async () => {
    await registerWorker(queue.admin);
    const id = await enqueue(queue.admin);
    const session = await queue.session();
    await session.rows("set application_name = 'shop'");
    await session.rows('begin');
    await session.rows('select taskq.cancel($1)', [id]);
    const { causes, may_start_at: at } = await explain(id);
    expect(at).toBeNull();
    const by = { application: 'shop', role: expect.any(String), since: expect.any(String) };
    const pid = await session.value<number>('select pg_backend_pid()');
    expect(causes).toEqual([{ cause: 'locked', pid, ...by, until: null }]);
    await session.rows('rollback');
    expect(await startsNow(id)).toBe(true);
  });

  test('that is prepared', async () => {
    await registerWorker(queue.admin);
    const id = await enqueue(queue.admin);
    const session = await queue.session();
    await session.rows('begin');
    await session.rows('select from taskq.tasks where id = $1 for update', id);
    await session.rows("prepare transaction 'forgotten'");
    const causes = await causesOf(id).finally(() => session.rows("rollback prepared 'forgotten'"));
    expect(causes).toMatchObject([{ cause: 'locked', prepared: 'forgotten', until: null }]);
    expect(await startsNow(id)).toBe(true);
  });
});

describe('before it', () => {
  test('are the tasks of its queue that its workers take first, and no others', async () => {
    await registerWorker(queue.admin);
    await enqueueSome(queue.admin, 3);
    await enqueue(queue.admin, { queue: 'mail', priority: 0 });
    await enqueue(queue.admin, { priority: 9 });
    await enqueue(queue.admin, { priority: 0, delay_ms: 60_000 });
    await queue.admin.rows("select taskq.enqueue('strange', '{}', $1)", { priority: 0, allow_unknown: true });
    const id = await enqueue(queue.admin);
    const urgent = await enqueueSome(queue.admin, 2, { priority: 0 });
    await enqueue(queue.admin);
    expect(await causesOf(id)).toEqual([{ cause: 'behind', tasks: 5, more: false }]);
    await queue.admin.rows('select taskq.cancel($1)', urgent);
    expect(await causesOf(id)).toEqual([{ cause: 'behind', tasks: 3, more: false }]);
    await queue.admin.rows('delete from taskq.tasks where id < $1', id);
    expect(await startsNow(id)).toBe(true);
  });

  test('at least a thousand are not counted further', async () => {
    await registerWorker(queue.admin);
    await enqueueSome(queue.admin, 1200);
    const id = await enqueue(queue.admin);
    expect(await causesOf(id)).toEqual([{ cause: 'behind', tasks: 1000, more: true }]);
  });

  test.each([{}, { group_limit: 2000 }])(
    'are, in a group with slots left (%j), those of the group; and slots may be busy',
    async (settings) => {
      await registerWorker(queue.admin);
      await queue.admin.rows("select taskq.set_queue('default', $1)", settings);
      await enqueueSome(queue.admin, 2);
      await enqueueSome(queue.admin, 3, { group: 'ben' });
      const [first, ...others] = await enqueueSome(queue.admin, 1100, { group: 'ann' });
      expect(await startsNow(first!)).toBe(true);
      expect(await causesOf(others[0]!)).toEqual([{ cause: 'behind', tasks: 1, more: false }]);
      await setWorkers('running = 8');
      const busy = { cause: 'slots_busy', workers: 1, slots: 8 };
      expect(await causesOf(first!)).toEqual([busy]);
      expect(await causesOf(others.at(-1)!)).toEqual([busy, { cause: 'behind', tasks: 1000, more: true }]);
    },
  );

  test('do not count while something else keeps it', async () => {
    await registerWorker(queue.admin);
    await enqueueSome(queue.admin, 3);
    const id = await enqueue(queue.admin, { delay_ms: 60_000 });
    expect(await causesOf(id)).toMatchObject([{ cause: 'delayed' }]);
  });
});

test('several causes are named together, and the latest decides', async () => {
  const id = await enqueue(queue.admin, { delay_ms: 60_000 });
  await queue.admin.rows("select taskq.pause_queue('default', _ms => 3600000)");
  expect(await explain(id)).toMatchObject({
    may_start_at: null,
    causes: [{ cause: 'delayed' }, { cause: 'queue_paused' }, { cause: 'no_worker' }],
  });
  await registerWorker(queue.admin);
  const { causes, may_start_at: at } = await explain(id);
  expect(causes).toMatchObject([{ cause: 'delayed' }, { cause: 'queue_paused', until: at }]);
});

describe('a held task', () => {
  test('runs on a worker since a time, or was claimed ahead by it', async () => {
    const worker = await registerWorker(queue.admin);
    const [running, ahead] = await enqueueSome(queue.admin, 2);
    await worker.claim({ start: 1, ahead: 1 });
    const on = { worker: worker.id, name: 'plain:1:a' };
    expect(await explain(running!)).toMatchObject({
      status: 'running',
      may_start_at: null,
      causes: [{ cause: 'running', ...on, since: expect.any(String) }],
    });
    expect(await explain(ahead!)).toMatchObject({
      status: 'leased',
      causes: [{ cause: 'claimed', ...on, since: null }],
    });
  });

  test('was asked to end, or its worker is silent', async () => {
    const worker = await registerWorker(queue.admin);
    const id = await enqueue(queue.admin);
    await claimOne(worker);
    await queue.admin.rows("select taskq.cancel(array[$1::bigint], 'too late')", id);
    expect(await causesOf(id)).toMatchObject([
      { cause: 'running' },
      { cause: 'cancel_requested', reason: 'too late', at: expect.any(String) },
    ]);
    await silence(queue.admin, worker.id, 60_000);
    expect(await causesOf(id)).toMatchObject([
      { cause: 'running' },
      {
        cause: 'worker_silent',
        ...{ worker: worker.id, name: 'plain:1:a', since: expect.any(String), others: false },
      },
      { cause: 'cancel_requested' },
    ]);
  });
});

test.each([
  ['its own', { timeout_ms: 60_000 }, null],
  ["its type's", {}, "update taskq.task_types set timeout_ms = 60000 where name = 'work'"],
  [
    "its queue's",
    {},
    "insert into taskq.queues (name, timeout_ms) values ('default', 60000) on conflict (name) do update set timeout_ms = 60000",
  ],
  ['that of all tasks', {}, 'update taskq.defaults set timeout_ms = 60000'],
])('a running task that has exceeded its timeout says since when: %s', async (_, options, set) => {
  const worker = await registerWorker(queue.admin);
  const id = await enqueue(queue.admin, options);
  const task = await claimOne(worker);
  if (set !== null) await queue.admin.rows(set);
  expect(await causesOf(id)).toMatchObject([{ cause: 'running' }]);
  await queue.admin.rows("update taskq.tasks set started_at = started_at - interval '61 seconds'");
  const [running, timedOut, ...others] = await causesOf(id);
  expect(others).toEqual([]);
  expect(timedOut).toEqual({ cause: 'timed_out', since: expect.any(String) });
  const since = (cause: Cause<string> | undefined) =>
    Date.parse(cause !== undefined && 'since' in cause ? cause.since! : '');
  expect(since(timedOut) - since(running)).toBe(60_000);
  await worker.settle(outcome(task, 'failed', { delay_ms: 60_000 }));
  expect(await causesOf(id)).toMatchObject([{ cause: 'retrying' }]);
});

test.each([
  { kind: 'completed', reason: null },
  { kind: 'cancelled', reason: 'too late' },
  { kind: 'dead', reason: 'hopeless' },
])('a task that has $kind says when, and why', async ({ kind, reason }) => {
  const worker = await registerWorker(queue.admin);
  const id = await enqueue(queue.admin);
  await worker.settle(outcome(await claimOne(worker), kind, { reason }));
  expect(await explain(id)).toEqual({
    id,
    queue: 'default',
    type: 'work',
    status: kind,
    may_start_at: null,
    causes: [{ cause: 'ended', at: expect.any(String), reason }],
  });
});
