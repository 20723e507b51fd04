import { describe, expect, test } from 'vitest';
import { listQueues } from '../../src/queue/inspect/list-queues.ts';
import { listTypes } from '../../src/queue/inspect/list-types.ts';
import { pauseQueue, resumeQueue } from '../../src/queue/operate/pause-queue.ts';
import { setQueue } from '../../src/queue/operate/set-queue.ts';
import { readClaimContext } from '../../src/queue/protocol/claim-context.ts';
import { maintain } from '../../src/queue/protocol/maintain.ts';
import { enqueue, enqueueSome, finishedRow, liveRow, statusOf } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

/** Enqueues a task in that queue, claims it and settles it; returns its id. */
async function end(name: string, kind: string, more: object = {}): Promise<string> {
  const worker = await registerWorker(queue.admin);
  const id = await enqueue(queue.admin, { queue: name });
  await worker.settle(outcome(await claimOne(worker, { queues: [name] }), kind, more));
  return id;
}

describe('what is set for a queue', () => {
  test('retention: how long its finished tasks are kept', async () => {
    await setQueue(queue.admin, 'q', { retention: 'ever' });
    await setQueue(queue.admin, 'gone', { retention: 'none' });
    const [kept, gone] = [await end('q', 'completed'), await end('gone', 'completed')];
    expect(await finishedRow(queue.admin, kept)).toMatchObject({ drop_on: Number.POSITIVE_INFINITY });
    expect(await statusOf(queue.admin, gone)).toBeUndefined();
  });

  test('errors_retention: how long the errors of its attempts are kept', async () => {
    const errors = (id: string) =>
      queue.admin.rows('select drop_on::text from taskq.task_errors where task_id = $1', id);
    await setQueue(queue.admin, 'q', { errors_retention: 'none' });
    expect(await errors(await end('q', 'failed', { error: { message: 'm' } }))).toEqual([]);
    await setQueue(queue.admin, 'q', { errors_retention: 'ever' });
    expect(await errors(await end('q', 'failed', { error: { message: 'm' } }))).toEqual([
      { drop_on: 'infinity' },
    ]);
  });

  test('dead_retention: how long its dead letters are kept, forever too where the database says otherwise', async () => {
    await queue.admin.rows("update taskq.defaults set dead_retention = '30d'");
    await setQueue(queue.admin, 'short', { dead_retention: '2d' });
    await setQueue(queue.admin, 'ever', { dead_retention: 'ever' });
    const [usual, short, ever] = [
      await end('usual', 'dead', { reason: 'r' }),
      await end('short', 'dead', { reason: 'r' }),
      await end('ever', 'dead', { reason: 'r' }),
    ];
    await queue.admin.rows("update taskq.dead_tasks set died_at = clock_timestamp() - interval '3 days'");
    expect(await maintain(queue.admin)).toMatchObject({ counts: { dead_discarded: 1 } });
    expect(await statusOf(queue.admin, short)).toBeUndefined();
    await queue.admin.rows("update taskq.dead_tasks set died_at = clock_timestamp() - interval '300 days'");
    expect(await maintain(queue.admin)).toMatchObject({ counts: { dead_discarded: 1 } });
    expect([await statusOf(queue.admin, usual), await statusOf(queue.admin, ever)]).toEqual([
      undefined,
      'dead',
    ]);
  });

  test('expires_ms: until when its tasks have to be started, of those enqueued from then on', async () => {
    const before = await enqueue(queue.admin, { queue: 'q' });
    await setQueue(queue.admin, 'q', { expires_ms: 60_000 });
    const after = await enqueue(queue.admin, { queue: 'q' });
    expect((await liveRow(queue.admin, before))!.expires_at).toBeNull();
    const left = 'select extract(epoch from expires_at - available_at)::int from taskq.tasks where id = $1';
    expect(await queue.admin.value(left, after)).toBe(60);
    await queue.admin.rows(
      "update taskq.tasks set expires_at = expires_at - interval '1 h' where id = $1",
      after,
    );
    const worker = await registerWorker(queue.admin);
    expect(await worker.claim({ start: 9, queues: ['q'] })).toMatchObject([{ id: before }]);
    await maintain(queue.admin);
    expect(await statusOf(queue.admin, after)).toBe('expired');
  });

  test('max_attempts: after how many a task is dead', async () => {
    await setQueue(queue.admin, 'q', { max_attempts: 1 });
    expect(await statusOf(queue.admin, await end('q', 'failed'))).toBe('dead');
  });

  test('timeout_ms: the limit of an attempt that its workers get', async () => {
    await setQueue(queue.admin, 'q', { timeout_ms: 1500 });
    expect((await readClaimContext(queue.admin, ['work'])).queueTimeouts).toEqual({ q: 1500 });
  });

  test('stays where it is not named, and is taken away by null', async () => {
    await setQueue(queue.admin, 'q', { max_attempts: 1, timeout_ms: 1500, retention: '2d' });
    await setQueue(queue.admin, 'q', { max_attempts: null, retention: '3d' });
    expect(await listQueues(queue.admin)).toMatchObject([
      { name: 'q', max_attempts: null, timeout_ms: 1500, retention: '3d' },
    ]);
    expect(await statusOf(queue.admin, await end('q', 'failed'))).toBe('pending');
  });

  test.each([
    [{ retention: '7x' }, 'set_queue: retention "7x"'],
    [{ dead_retention: 'none' }, 'set_queue: dead_retention "none"'],
    [{ max_attempts: 0 }, 'set_queue: max_attempts 0'],
    [{ timeout_ms: 0 }, 'set_queue: timeout_ms 0'],
    [{ expires_ms: -1 }, 'set_queue: expires_ms -1'],
    [{ retentoin: '7d' }, 'set_queue: unknown option "retentoin" (did you mean "retention"?)'],
  ])('is refused by the database where it makes no sense: %j', async (settings: object, why) => {
    await expect(setQueue(queue.admin, 'q', settings)).rejects.toThrow(why);
    expect(await listQueues(queue.admin)).toEqual([]);
  });
});

describe('the list', () => {
  test('has the queues with a task, a setting or a pause, and no others', async () => {
    await enqueueSome(queue.admin, 3, { queue: 'busy' });
    await setQueue(queue.admin, 'set', { max_attempts: 5 });
    await pauseQueue(queue.admin, 'paused', { by: 'ann', reason: 'deploy', forMs: 60_000 });
    await setQueue(queue.admin, 'unset', { max_attempts: 5 });
    await setQueue(queue.admin, 'unset', { max_attempts: null });
    expect(await listQueues(queue.admin)).toMatchObject([
      { name: 'busy', waiting: 3, paused_at: null, max_attempts: null },
      {
        name: 'paused',
        waiting: 0,
        paused_by: expect.stringMatching(/^\w+ \(ann\)$/),
        pause_reason: 'deploy',
        paused_until: expect.stringMatching(/^\d{4}-/),
      },
      { name: 'set', waiting: 0, max_attempts: 5 },
    ]);
    expect(await listQueues(queue.admin, { name: 'unset' })).toMatchObject([
      { name: 'unset', max_attempts: null },
    ]);
  });

  test('has a queue with dead letters alone, once they are sampled', async () => {
    const id = await enqueue(queue.admin, { queue: 'dead' });
    await queue.admin.rows("select taskq.add_dead($1, 'why')", id);
    await queue.admin.rows('select taskq.take_sample()');
    expect(await listQueues(queue.admin)).toMatchObject([{ name: 'dead', waiting: 0 }]);
    await queue.admin.rows('select taskq.discard(array[$1::bigint])', id);
    await queue.admin.rows("update taskq.sampling set sampled_at = '-infinity'");
    await queue.admin.rows('select taskq.take_sample()');
    expect(await listQueues(queue.admin)).toEqual([]);
  });

  test('counts pending tasks, not held ones', async () => {
    const worker = await registerWorker(queue.admin);
    await enqueueSome(queue.admin, 5);
    await worker.claim({ start: 1, ahead: 1 });
    expect(await listQueues(queue.admin)).toMatchObject([{ name: 'default', waiting: 3 }]);
  });

  test('counts pending tasks correctly after a large backlog has left empty pages', async () => {
    await queue.admin.rows(
      `select from taskq.enqueue_many((
         select jsonb_agg(jsonb_build_object('type', 'work', 'payload', (
           select string_agg(md5(n::text || m), '') from generate_series(1, 57) as m
         ))) from generate_series(1, 9000) as n
       ))`,
    );
    expect(await queue.admin.value("select pg_relation_size('taskq.tasks') > 67108864")).toBe(true);
    // A busy machine has no time to count them all at once.
    await expect
      .poll(() => listQueues(queue.admin), { timeout: 60_000 })
      .toMatchObject([{ waiting: 9000, at_least: false }]);
    await queue.admin.rows('delete from taskq.tasks');
    await queue.admin.rows('vacuum taskq.tasks');
    await enqueueSome(queue.admin, 2);
    const counted = { timeout: 60_000 };
    await expect
      .poll(() => listQueues(queue.admin), counted)
      .toMatchObject([{ waiting: 2, at_least: false }]);
    await expect.poll(() => listTypes(queue.admin), counted).toMatchObject([{ waiting: 2, at_least: false }]);
  });

  test('says "at least" where there is no time to count', async () => {
    await enqueueSome(queue.admin, 2);
    const noTime = `select waiting::int, extra from taskq.list_queues('{"count_ms": 0}')`;
    expect(await queue.admin.rows(noTime)).toEqual([{ waiting: 0, extra: { at_least: true, sources: {} } }]);
  });

  test('knows no pause that is over', async () => {
    await enqueue(queue.admin);
    await pauseQueue(queue.admin, 'default', { by: 'ann', reason: 'r', forMs: 60_000 });
    await queue.admin.rows("update taskq.queues set paused_until = clock_timestamp() - interval '1 ms'");
    expect(await listQueues(queue.admin)).toMatchObject([
      { paused_at: null, paused_by: null, pause_reason: null },
    ]);
    expect(await resumeQueue(queue.admin, 'default')).toBe(false);
  });
});
