import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { REPOSITORY } from '../../support/spawn-taskq.ts';
import type { RunningTaskq } from '../../support/start-taskq.ts';
import { event, eventsOf, until, useWorkers } from '../support/workers.ts';

const handlers = join(REPOSITORY, 'test/worker/follow-ups/handlers');
const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

interface Given {
  readonly payload: object;
  readonly options?: object;
}

const ENDS = /^task\.(completed|failed|died|snoozed|cancelled)$/;

describe('in one worker', () => {
  const queue = useWorkers('file');
  const followsOf = followUpsIn(queue);
  let worker: RunningTaskq;

  beforeAll(() => {
    worker = queue.work([], { handlers });
  });

  /** Runs these tasks, and what they enqueue that is due. Returns each with what it has enqueued. */
  async function runAll(type: string, given: readonly Given[]) {
    const ids: string[] = [];
    for (const { payload, options } of given)
      ids.push(await queue.enqueue(type, payload, { max_attempts: 1, ...options }));
    for (const id of ids)
      await worker.waitForLog((line) => line.task_id === id && ENDS.test(String(line.event)));
    const due = `select count(*)::int from taskq.tasks
      where source in (select 'follow-up of ' || unnest($1::bigint[])) and available_at <= clock_timestamp()
        and type <> 'nowhere'`;
    await until(
      async () => (await queue.value(due, ids)) === 0,
      async () => 'tasks are due',
    );
    const ended = [];
    for (const id of ids) ended.push({ id, task: await queue.task(id), follow: await followsOf(id) });
    return ended;
  }

  async function run(type: string, payload: object, options: object = {}) {
    const [ended] = await runAll(type, [{ payload, options }]);
    return ended!;
  }

  describe.each(['follow', 'follow-apart'])('a handler (%s)', (type) => {
    test('that completes enqueues tasks with its end, which run with its trace', async () => {
      const { task, follow } = await run(
        type,
        {
          enqueue: [
            ['checked', { to: 'ann' }],
            ['checked', { to: 'bob' }, { priority: 'high' }],
          ],
        },
        { traceparent: TRACEPARENT },
      );
      expect(task).toMatchObject({ status: 'completed', result: 'done' });
      expect(follow).toMatchObject([
        {
          type: 'checked',
          payload: { to: 'ann' },
          status: 'completed',
          result: 'ann',
          traceparent: TRACEPARENT,
        },
        {
          type: 'checked',
          payload: { to: 'bob' },
          status: 'completed',
          result: 'bob',
          traceparent: TRACEPARENT,
        },
      ]);
    });

    test('has enqueued nothing as long as it runs', async () => {
      const id = await queue.enqueue(type, { enqueue: [['checked', { to: 'ann' }]], until: 'go' });
      await queue.saw(id, 'enqueued');
      expect(await followsOf(id)).toEqual([]);
      await queue.witness(id, 'go');
      await queue.ended(id);
      expect(await followsOf(id)).toHaveLength(1);
    });

    test('that ends otherwise leaves none', async () => {
      const ends = ['throw', 'retry', 'snooze', 'dead', 'cancel'];
      const ended = await runAll(
        type,
        ends.map((end) => ({
          payload: { enqueue: [['checked', { to: 'ann' }]], ends: end },
          options: { max_attempts: end === 'retry' ? 2 : 1 },
        })),
      );
      expect(ended.map(({ task }) => task.status)).toEqual([
        'dead',
        'pending',
        'pending',
        'dead',
        'cancelled',
      ]);
      expect(ended.flatMap(({ follow }) => follow)).toEqual([]);
    });

    test('that exceeds its timeout leaves none, whatever it returns then', async () => {
      const payload = { enqueue: [['checked', { to: 'ann' }]], until: 'never' };
      const { task, follow } = await run(type, payload, { timeout_ms: 300 });
      expect(task).toMatchObject({ status: 'dead', error: { name: 'TimeoutError' } });
      expect(follow).toEqual([]);
    });

    test('that asks for another run gets both', async () => {
      const ended = await runAll(
        type,
        ['again', 'thrown again'].map((ends) => ({
          payload: { enqueue: [['checked', { to: 'ann' }]], ends },
        })),
      );
      expect(ended.map(({ task, follow }) => [task.status, follow.length])).toEqual([
        ['completed', 1],
        ['completed', 1],
      ]);
      for (const { id } of ended)
        expect(
          await queue.rows('select status from taskq.tasks where source = $1', `again of ${id}`),
        ).toEqual([{ status: 'pending' }]);
    });

    test('that completes in a transaction of its own has what it enqueued stored by its commit, or nothing', async () => {
      const ended = await runAll(type, [
        { payload: { enqueue: [['late', { n: 1 }]], transacts: ['late', { n: 2 }] } },
        { payload: { enqueue: [['late', { n: 1 }]], transacts: ['late', { n: 2 }], ends: 'throw' } },
        { payload: { enqueue: [['late', { n: 1 }]], transacts: ['nowhere', { n: 2 }] } },
      ]);
      expect(ended).toMatchObject([
        {
          task: { status: 'completed', result: 'done' },
          follow: [{ payload: { n: 1 } }, { payload: { n: 2 } }],
        },
        { task: { status: 'dead', error: { message: 'no' } }, follow: [] },
        { task: { status: 'dead', error: { message: expect.stringMatching(/unknown type/) } }, follow: [] },
      ]);
      const of = 'select task_id from witness where event = $1 and task_id = any ($2)';
      for (const what of ['written', 'too late'])
        expect(
          await queue.rows(
            of,
            what,
            ended.map(({ id }) => id),
          ),
        ).toEqual([{ task_id: ended[0]!.id }]);
    });

    test('whose transaction was rolled back goes on without what it has enqueued in it', async () => {
      const task = ['checked', { to: 'bob' }, { key: 'k' }];
      const undone = [
        { task, ends: 'throw' },
        { task, ends: 'snooze' },
        { task: ['nowhere', {}], ends: 'return' },
      ];
      const ended = await runAll(type, [
        { payload: { enqueue: [['checked', { to: 'ann' }]], undone } },
        { payload: { enqueue: [['checked', { to: 'ann' }]], undone, transacts: task } },
      ]);
      expect(ended).toMatchObject([
        { task: { status: 'completed' }, follow: [{ payload: { to: 'ann' } }] },
        { task: { status: 'completed' }, follow: [{ payload: { to: 'ann' } }, { payload: { to: 'bob' } }] },
      ]);
    });

    test('whose queue names where it may enqueue is held to that, also by the commit of its transaction', async () => {
      const may = (queues: readonly string[] | null) =>
        queue.rows("select taskq.set_queue('narrow', $1)", { may_enqueue: queues });
      const options = { queue: 'narrow' };
      await may(['default']);
      const refused = await runAll(type, [
        { payload: { enqueue: [['late', { n: 1 }, { queue: 'wide' }]] }, options },
        { payload: { transacts: ['late', { n: 2 }, { queue: 'wide' }] }, options },
        { payload: { transacts: ['late', { n: 3 }] }, options },
      ]);
      const message = expect.stringContaining('handlers of the queue "narrow" may not enqueue into "wide"');
      expect(refused).toMatchObject([
        { task: { status: 'dead', reason: 'follow_up_refused', error: { message } }, follow: [] },
        { task: { status: 'dead', reason: 'attempts_spent', error: { message } }, follow: [] },
        { task: { status: 'completed' }, follow: [{ payload: { n: 3 } }] },
      ]);
      await may(null);
      expect(await run(type, { transacts: ['late', { n: 4 }, { queue: 'wide' }] }, options)).toMatchObject({
        task: { status: 'completed' },
        follow: [{ payload: { n: 4 } }],
      });
    });

    test('learns at once, in the words of enqueue, what is refused, and may go on', async () => {
      const { task, follow } = await run(type, {
        enqueue: [
          ['checked', { to: 7 }],
          ['checked', { to: 'ann' }, { priority: 'urgent' }],
          ['checked', { to: 'ann' }, { keyfor: '1d' }],
          ['', {}],
          [7, {}],
          ['checked', { to: 'ann' }, { allowUnknown: 'yes' }],
          ['checked', { to: 'ann' }],
        ],
      });
      expect(task).toMatchObject({
        status: 'completed',
        result: [
          'invalid_payload the payload does not fit checked: $.to: expected text',
          expect.stringMatching(/^bad_priority priority "urgent"/),
          'bad_option unknown option "keyfor" (did you mean "keyFor"?)',
          expect.stringMatching(/^bad_name/),
          expect.stringMatching(/^bad_name/),
          'bad_option allowUnknown "yes": expected true',
        ],
      });
      expect(follow).toMatchObject([{ payload: { to: 'ann' } }]);
    });

    test('of which a follow-up is refused by the database has died, and its line in the log says why', async () => {
      const { id, task, follow } = await run(type, {
        enqueue: [
          ['checked', { to: 'ann' }],
          ['nowhere', {}],
        ],
      });
      const error = {
        name: 'FollowUpRefused',
        message: 'unknown type "nowhere": no worker has registered it',
      };
      expect(task).toMatchObject({ status: 'dead', reason: 'follow_up_refused', error });
      expect(follow).toEqual([]);
      expect(eventsOf(worker, 'task.died', id)).toMatchObject([{ reason: 'follow_up_refused', error }]);
    });

    test('may enqueue a type that nothing knows yet', async () => {
      const { task, follow } = await run(type, { enqueue: [['nowhere', {}, { allowUnknown: true }]] });
      expect(task).toMatchObject({ status: 'completed' });
      expect(follow).toMatchObject([{ type: 'nowhere', status: 'pending' }]);
    });
  });

  test('a handler whose process ends leaves no follow-ups', async () => {
    const { task, follow } = await run('follow-apart', {
      enqueue: [['checked', { to: 'ann' }]],
      ends: 'exit',
    });
    expect(task).toMatchObject({ status: 'dead', error: { name: 'ChildDied' } });
    expect(follow).toEqual([]);
  });

  test('a handler that does not wait until its task is checked has enqueued it all the same', async () => {
    const { task, follow } = await run('careless', { payload: { to: 'ann' } });
    expect(task).toMatchObject({ status: 'completed' });
    expect(follow).toHaveLength(1);
  });

  describe('a program', () => {
    const enqueue = (type: string, payload: unknown, more: object = {}) =>
      JSON.stringify({ enqueue: { type, payload, ...more } });

    test('enqueues what it writes on file descriptor 3', async () => {
      const { task, follow } = await run('program', [
        enqueue('checked', { to: 'ann' }),
        enqueue('checked', { to: 'bob' }, { priority: 0 }),
      ]);
      expect(task).toMatchObject({ status: 'completed', result: 'done' });
      expect(follow).toMatchObject([{ result: 'ann' }, { result: 'bob' }]);
    });

    test('enqueues what it writes without a line feed, also if it leaves a process behind', async () => {
      const { task, follow } = await run('program-behind', {});
      expect(task).toMatchObject({ status: 'completed' });
      expect(follow).toMatchObject([{ type: 'checked', result: 'ann' }]);
    });

    test('fails, and enqueues nothing, where a line is refused', async () => {
      const refused = [
        [enqueue('checked', { to: 7 }), '$.to: expected text'],
        [enqueue('checked', { to: 'ann' }, { dely: '1h' }), '(did you mean "delay"?)'],
        ['enqueue', 'file descriptor 3, line 2: expected a JSON object'],
        ['[5]', 'file descriptor 3, line 2: expected a JSON object'],
        ['{"enqeue": {}}', 'expected one of progress, warn, enqueue'],
        ['{"enqueue": 5}', 'enqueue 5: expected {"type": …'],
      ] as const;
      const ended = await runAll(
        'program',
        refused.map(([line]) => ({ payload: [enqueue('checked', { to: 'ann' }), line] })),
      );
      expect(ended).toMatchObject(
        refused.map(([, why]) => ({
          task: { status: 'dead', error: { message: expect.stringContaining(why) } },
          follow: [],
        })),
      );
    });
  });
});

describe('in a worker of their own', () => {
  const queue = useWorkers();
  const followsOf = followUpsIn(queue);

  describe.each(['follow', 'follow-apart'])('a handler (%s)', (type) => {
    test('whose worker has lost the lease leaves none, and the run after it its own', async () => {
      const id = await queue.enqueue(type, { enqueue: [['checked', { to: 'ann' }]], until: 'go' });
      const zombie = queue.work([], { handlers });
      const started = await zombie.waitForLog(event('worker.started'));
      await queue.saw(id, 'enqueued');
      zombie.kill('SIGSTOP');
      await queue.silence(started);
      await queue.robbed(started);
      const other = queue.work(['--until-idle'], { handlers });
      await queue.saw(id, 'enqueued', { times: 2 });
      await queue.witness(id, 'go');
      await other.exit;
      zombie.kill('SIGCONT');
      await zombie.waitForLog(event('lease.lost', id));
      expect(await followsOf(id)).toHaveLength(1);
    });
  });

  describe('a handler that does not wait until its task is checked', () => {
    test.each([
      ['its schema', { payload: { to: 7 } }, '$.to: expected text'],
      ['its name', { type: '', payload: {} }, 'type'],
    ])('has failed where %s is refused', async (_, payload, why) => {
      const id = await queue.enqueue('careless', payload, { max_attempts: 1 });
      const worker = queue.work([], { handlers });
      await worker.waitForLog((line) => line.task_id === id && ENDS.test(String(line.event)));
      worker.kill();
      const { code } = await worker.exit;
      expect(await queue.task(id)).toMatchObject({
        status: 'dead',
        error: { message: expect.stringContaining(why) },
      });
      expect(await followsOf(id)).toEqual([]);
      expect(code).toBe(1);
    });
  });

  test.each([
    ['settle_followed(integer, json, integer)', 'the follow-ups'],
    ['call_back(text, bigint[], timestamptz, jsonb[], text[])', 'what follows the end'],
  ])('without %s, which inserts %s, a task that has completed waits until it is back', async (signature) => {
    const id = await queue.enqueue(
      'follow',
      { enqueue: [['checked', { to: 'ann' }]] },
      { max_attempts: 1, on_complete: { type: 'checked', payload: { to: 'bob' } }, allow_unknown: true },
    );
    const name = signature.split('(')[0]!;
    await queue.rows(`alter function taskq.${signature} rename to elsewhere`);
    const worker = queue.work([], { handlers });
    await worker.waitForLog(event('statement.failed'));
    expect(await queue.task(id)).toMatchObject({ status: 'running', attempts: 0 });
    await queue.rows(`alter function taskq.${signature.replace(name, 'elsewhere')} rename to ${name}`);
    await queue.hasStatus(id, 'completed');
    expect(eventsOf(worker, 'task.died')).toEqual([]);
    expect(await followsOf(id)).toHaveLength(1);
  });

  test('what a handler enqueues after its end is refused', async () => {
    const worker = queue.work([], { handlers });
    const id = await queue.enqueue('late');
    await worker.waitForLog(({ msg }) => msg === 'late: attempt_over');
    expect(await followsOf(id)).toEqual([]);
  });

  test.each([
    ['10,000 tasks', { count: 10_001 }, { n: 10_001, problem: 'too_many_follow_ups' }],
    ['16 MB', { count: 100, length: 1_000_000 }, { n: 16, problem: 'too_many_follow_ups' }],
    ['1 MB for one of them', { count: 100, length: 1_100_000 }, { n: 1, problem: 'invalid_payload' }],
  ])('an attempt can enqueue %s', async (_, payload, refused) => {
    const id = await queue.enqueue('many', payload);
    const worker = queue.work(['--lease', '30s'], { handlers });
    await queue.hasStatus(id, 'completed');
    worker.kill();
    expect(await queue.task(id)).toMatchObject({ result: refused });
    const count = "select count(*)::int from taskq.tasks where source = 'follow-up of ' || $1";
    expect(await queue.value(count, id)).toBe(refused.n - 1);
  });

  test('a key that a producer has in an open transaction holds up only the task whose follow-up has it', async () => {
    const producer = await queue.session();
    await producer.query('begin');
    await producer.query(`select taskq.enqueue('nowhere', '{}', '{"key": "open", "allow_unknown": true}')`);
    const keyed = (key: string) => ({ enqueue: [['checked', { to: 'ann' }, { key, delay: '1h' }]] });
    const held = await queue.enqueue('follow', keyed('open'));
    const worker = queue.work([], { handlers });
    await queue.saw(held, 'enqueued');
    const others = [
      await queue.enqueue('follow', keyed('free')),
      await queue.enqueue('checked', { to: 'bob' }),
    ];
    for (const id of others) await queue.hasStatus(id, 'completed');
    expect(await queue.task(held)).toMatchObject({ status: 'running' });
    await producer.query('commit');
    await queue.hasStatus(held, 'completed');
    expect(await followsOf(held)).toEqual([]);
    worker.kill();
    expect(await worker.exit).toEqual({ code: 0, signal: null });
  });

  test('a task that had to wait for a key is recorded soon, however many others with keys end meanwhile', async () => {
    const producer = await queue.session();
    await producer.query('begin');
    await producer.query(`select taskq.enqueue('nowhere', '{}', '{"key": "open", "allow_unknown": true}')`);
    const held = await queue.enqueue('keyed', { key: 'open' }, { priority: 0 });
    await queue.rows(
      `select from taskq.enqueue_many((
        select jsonb_agg(jsonb_build_object('type', 'keyed', 'payload', jsonb_build_object('key', n::text)))
        from generate_series(1, 2000) as n
      ), '{"allow_unknown": true}')`,
    );
    queue.work(['--concurrency', '100'], { handlers, env: { TASKQ_LOG_LEVEL: 'info' } });
    const ended = () => queue.value<number>('select count(*)::int from taskq.finished_tasks');
    await expect.poll(ended).toBeGreaterThan(10);
    await producer.query('commit');
    await queue.hasStatus(held, 'completed');
    expect(await ended()).toBeLessThan(1000);
  });
});

/** Returns a function that finds what a task has enqueued. */
function followUpsIn(queue: ReturnType<typeof useWorkers>) {
  return (id: string) =>
    queue.rows(
      `select type, payload, status::text, result, traceparent from taskq.all_tasks
       where source = 'follow-up of ' || $1 order by id`,
      id,
    );
}
