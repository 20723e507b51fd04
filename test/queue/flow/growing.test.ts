import { beforeEach, describe, expect, test } from 'vitest';
import { knowTypes } from '../../support/know-types.ts';
import { enqueue, enqueueSome } from '../rows.ts';
import { useDatabase } from '../session.ts';
import { patiently, waitUntilBlocked } from '../waiting.ts';
import { claimOne, outcome, registerWorker } from '../worker.ts';
import { edges, runWorkflow, stepRows, stored } from './started.ts';

const queue = useDatabase();
beforeEach(() => knowTypes(queue.admin.client, 'work'));

const asks = () =>
  queue.admin.rows(
    'select workflow_id, live, waiting, deaths, steps from taskq.workflow_asks order by workflow_id, id',
  );
const close = (id: string) => queue.admin.value<boolean>('select taskq.close_workflow($1)', id);
const open = () => runWorkflow(queue.admin, [{ step: 'a' }], { open: true });

describe('an open workflow', () => {
  test('takes steps one by one, each with an ask that names its parents', async () => {
    const { id } = await open();
    await enqueue(queue.admin, { workflow: id, step: 'b', after: ['a'] });
    await enqueue(queue.admin, { workflow: Number(id), step: 'c', after: ['b', 'a'], on_death: 'wait' });
    await enqueue(queue.admin, { workflow: id, step: 'd', priority: 'high', key: 'k' });
    expect(await edges(queue.admin, id)).toEqual(['a -> b cancel', 'a -> c wait', 'b -> c wait']);
    expect((await stepRows(queue.admin, id)).map((row) => [row.step, row.status, row.gate])).toEqual([
      ['a', 'released', null],
      ['b', 'waiting', 'p'],
      ['c', 'waiting', 'p'],
      ['d', 'released', null],
    ]);
    const none = { workflow_id: id, deaths: 0 };
    expect(await asks()).toEqual([
      { ...none, live: 1, waiting: 1, steps: ['a'] },
      { ...none, live: 1, waiting: 1, steps: ['a', 'b'] },
      { ...none, live: 1, waiting: 0, steps: [] },
    ]);
  });

  test('takes a bulk, whose steps may wait for each other in any order', async () => {
    const [one, two] = [await open(), await open()];
    const bulk = [
      { type: 'work', workflow: one.id, step: 'c', after: ['b'] },
      { type: 'work', workflow: one.id, step: 'b', after: ['a'] },
      { type: 'work' },
      { type: 'work', workflow: two.id, step: 'b', after: ['a'], key: 'k' },
    ];
    const made = await queue.admin.rows<{ created: boolean }>(
      'select * from taskq.enqueue_many($1)',
      JSON.stringify(bulk),
    );
    expect(made.map(({ created }) => created)).toEqual([true, true, true, true]);
    expect(await edges(queue.admin, one.id)).toEqual(['a -> b cancel', 'b -> c cancel']);
    expect(await edges(queue.admin, two.id)).toEqual(['a -> b cancel']);
    expect(await asks()).toEqual([
      { workflow_id: one.id, live: 2, waiting: 2, deaths: 0, steps: ['a'] },
      { workflow_id: two.id, live: 1, waiting: 1, deaths: 0, steps: ['a'] },
    ]);
  });

  test('names a step without a name by the id of its task', async () => {
    const { id } = await open();
    const [first, second] = await enqueueSome(queue.admin, 2, { workflow: id, after: ['a'] });
    expect(await edges(queue.admin, id)).toEqual([`a -> ${first} cancel`, `a -> ${second} cancel`]);
  });

  test('has no step of a task whose key is held', async () => {
    const { id } = await open();
    const holder = await enqueue(queue.admin, { key: 'k' });
    expect(await enqueue(queue.admin, { workflow: id, step: 'b', after: ['a'], key: 'k' })).toBe(holder);
    expect(await stepRows(queue.admin, id)).toHaveLength(1);
    expect(await asks()).toEqual([]);
  });

  test('of two transactions that add the same step, one does', async () => {
    const { id } = await open();
    const [one, two] = [await queue.session(), await queue.session()];
    await one.rows('begin');
    await enqueue(one, { workflow: id, step: 'b', after: ['a'] });
    const refused = expect(enqueue(two, { workflow: id, step: 'b' })).rejects.toThrow(
      `enqueue: workflow ${id} has a step "b" already`,
    );
    await waitUntilBlocked(queue.admin);
    await one.rows('commit');
    await refused;
    expect(await stepRows(queue.admin, id)).toHaveLength(2);
  });

  test('is closed once those who add a step have ended, and takes no more', async () => {
    const { id } = await open();
    const adder = await queue.session();
    await adder.rows('begin');
    await enqueue(adder, { workflow: id, step: 'b' });
    await expect(close(id)).rejects.toMatchObject({ code: '55P03' });
    await patiently(queue.admin, ['close_workflow'], async () => {
      const closing = (await queue.session()).value('select taskq.close_workflow($1)', id);
      await waitUntilBlocked(queue.admin);
      await adder.rows('commit');
      expect(await closing).toBe(true);
    });
    expect(await close(id)).toBe(false);
    expect(await queue.admin.row('select is_open, state from taskq.workflows')).toEqual({
      is_open: false,
      state: 'running',
    });
    await expect(enqueue(queue.admin, { workflow: id })).rejects.toThrow(`workflow ${id} ("flow") is closed`);
    expect(await queue.admin.row('select verb, settings from taskq.audit')).toEqual({
      verb: 'close workflow',
      settings: { workflow: id },
    });
  });

  test('has at most 100,000 steps, those that no claim has seen among them', async () => {
    const { id } = await open();
    const setTotal = (steps: number) =>
      queue.admin.rows('update taskq.workflows set total_steps = $1 where id = $2', steps, id);
    const total = () =>
      queue.admin.value<number>('select total_steps from taskq.workflows where id = $1', id);
    expect(await total()).toBe(1);
    await setTotal(99_996);
    await enqueue(queue.admin, { workflow: id, step: 'b', after: ['a'] });
    await enqueue(queue.admin, { workflow: id, step: 'b2', key: 'k' });
    const bulk = (...names: string[]) =>
      queue.admin.rows(
        'select created from taskq.enqueue_many($1)',
        JSON.stringify(names.map((step) => ({ type: 'work', workflow: id, step }))),
      );
    const before = await stored(queue.admin);
    await expect(bulk('c', 'd', 'e')).rejects.toMatchObject({
      code: '22023',
      message: `enqueue: workflow ${id} ("flow") would have 100001 steps: expected at most 100000`,
    });
    expect(await stored(queue.admin)).toBe(before);
    await bulk('c', 'd');
    // A step whose key is held is not added.
    await enqueue(queue.admin, { workflow: id, step: 'b3', key: 'k' });
    await claimOne(await registerWorker(await queue.session()));
    expect(await asks()).toEqual([]);
    expect(await total()).toBe(100_000);
    await expect(enqueue(queue.admin, { workflow: id, step: 'e' })).rejects.toMatchObject({
      code: '22023',
      message: `enqueue: workflow ${id} ("flow") would have 100001 steps: expected at most 100000`,
    });
  });

  test('has ended as soon as it is closed if its steps have, with no worker', async () => {
    const stateOf = (id: string) => queue.admin.value('select state from taskq.workflows where id = $1', id);
    const empty = await runWorkflow(queue.admin, [], { open: true, on_end: { type: 'work' } });
    expect(await close(empty.id)).toBe(true);
    expect(await stateOf(empty.id)).toBe('completed');
    expect(await queue.admin.value("select payload #>> '{workflow,id}' from taskq.tasks")).toBe(empty.id);
    await queue.admin.rows('delete from taskq.tasks');

    const worker = await registerWorker(await queue.session());
    for (const attends of [true, false]) {
      const { id } = await open();
      await worker.settle(outcome(await claimOne(worker), 'completed'));
      if (attends) await worker.claim();
      expect(await close(id)).toBe(true);
      expect(await stateOf(id)).toBe('completed');
    }
    expect(await asks()).toEqual([]);

    const { id } = await open();
    expect(await close(id)).toBe(true);
    expect(await stateOf(id)).toBe('running');
  });

  test('is held up by nobody who adds a step, or closes it, in a transaction that stays open', async () => {
    const { id } = await open();
    const worker = await registerWorker(await queue.session());
    await worker.session.rows("set statement_timeout = '10s'");
    const task = await claimOne(worker);
    const adder = await queue.session();
    await adder.rows('begin');
    await enqueue(adder, { workflow: id, step: 'b', after: ['a'] });
    await worker.heartbeat([task]);
    expect(await worker.settle(outcome(task, 'completed'))).toMatchObject([{ answer: 'recorded' }]);
    expect(await worker.claim()).toEqual([]);
    await adder.rows('commit');
    const child = await claimOne(worker);
    await adder.rows('begin');
    await adder.rows('select taskq.close_workflow($1)', id);
    expect(await worker.settle(outcome(child, 'completed'))).toMatchObject([{ answer: 'recorded' }]);
    expect(await worker.claim()).toEqual([]);
    await adder.rows('commit');
    await worker.claim();
    expect(await queue.admin.value('select state from taskq.workflows where id = $1', id)).toBe('completed');
  });

  test('that is being closed lets nobody add a step', async () => {
    const { id } = await open();
    const closer = await queue.session();
    await closer.rows('begin');
    await closer.rows('select taskq.close_workflow($1)', id);
    const refused = expect(enqueue(await queue.session(), { workflow: id })).rejects.toThrow('is closed');
    await waitUntilBlocked(queue.admin);
    await closer.rows('commit');
    await refused;
  });
});

describe('refused, with nothing stored:', () => {
  const REFUSED: [why: string, options: object, message: string][] = [
    ['an unknown workflow', { workflow: 1_000_000 }, 'enqueue: no workflow 1000000'],
    ['a step twice', { step: 'a' }, 'enqueue: workflow <id> has a step "a" already'],
    [
      'an unknown parent',
      { step: 'b', after: ['A'] },
      'enqueue: step "b" waits for "A", which is no step of the workflow (did you mean "a"?)',
    ],
    [
      'a step that waits for itself',
      { step: 'b', after: ['b'] },
      'enqueue: steps wait for each other: "b" -> "b"',
    ],
    ['a step without a workflow', { workflow: null, step: 'b' }, 'enqueue: step needs a workflow'],
    ['parents without a workflow', { workflow: null, after: ['a'] }, 'enqueue: after needs a workflow'],
    [
      'a workflow that is no id',
      { workflow: 'flow' },
      'enqueue: workflow "flow": expected the id of a workflow',
    ],
    [
      'a step that would replace',
      { key: 'k', on_held: 'replace' },
      'enqueue: a step replaces no task that holds its key: expected on_held ignore',
    ],
  ];
  test.each(REFUSED)('%s', async (_why, options, message) => {
    const { id } = await open();
    const before = await stored(queue.admin);
    const one = await enqueue(queue.admin, { workflow: id, ...options }).catch((thrown) => thrown);
    expect(one).toMatchObject({ code: '22023', message: message.replace('<id>', id) });
    const many = await queue.admin
      .rows(
        'select * from taskq.enqueue_many($1)',
        JSON.stringify([{ type: 'work' }, { type: 'work', workflow: id, ...options }]),
      )
      .catch((thrown) => thrown);
    expect(many).toMatchObject({ code: '22023' });
    expect(await stored(queue.admin)).toBe(before);
  });
});

describe('a step that waits for its parents', () => {
  const waiting = async (options: object = {}) => {
    const { id, steps } = await runWorkflow(queue.admin, [
      { step: 'a' },
      { step: 'b', after: ['a'], key: 'k', ...options },
    ]);
    return { id, b: steps.b!, row: async () => (await stepRows(queue.admin, id))[1]! };
  };
  const WAITS = { status: 'waiting', task: 'blocked', gate: 'p', never: true };

  test('is not made due by a retry, nor by the passing of time', async () => {
    const { b, row } = await waiting({ delay_ms: 60_000 });
    expect(await queue.admin.rows('select answer, extra from taskq.retry($1)', [b])).toEqual([
      { answer: 'not_waiting', extra: { status: 'blocked' } },
    ]);
    expect(await queue.admin.value('select taskq.age_task($1)', b)).toBe(false);
    expect(await row()).toMatchObject(WAITS);
  });

  test.each(['replace', 'preserve'])('keeps waiting when it is edited (%s)', async (on_held) => {
    const { b, row } = await waiting({ group: 'g', delay_ms: 60_000, expires_ms: 1000 });
    expect(
      await queue.admin.row(
        'select id, extra from taskq.enqueue($1, $2, $3)',
        'work',
        { n: 2 },
        { key: 'k', on_held, priority: 0, group: 'g', expires_ms: 5000 },
      ),
    ).toEqual({ id: b, extra: { answer: 'replaced' } });
    expect(await row()).toMatchObject(WAITS);
    expect(
      await queue.admin.row(
        `select payload, priority, step, workflow_id is not null as in_workflow,
           not_before > clock_timestamp() + interval '30 s' as later, expires_at - not_before as waits
         from taskq.tasks where id = $1`,
        b,
      ),
    ).toMatchObject({
      payload: { n: 2 },
      priority: 0,
      step: 'b',
      in_workflow: true,
      later: on_held === 'preserve',
      waits: { seconds: 5 },
    });
  });

  test('keeps waiting when it is edited without a group', async () => {
    const { b, row } = await waiting();
    await queue.admin.rows(
      `select taskq.enqueue('work', '{"n": 2}', '{"key": "k", "on_held": "replace", "delay_ms": 60000}')`,
    );
    expect(await row()).toMatchObject(WAITS);
    expect(
      await queue.admin.value(
        `select not_before > clock_timestamp() + interval '30 s' from taskq.tasks where id = $1`,
        b,
      ),
    ).toBe(true);
  });

  test('expires, and is cancelled, as any other task', async () => {
    const { b } = await waiting({ expires_ms: 1 });
    await queue.admin.rows("update taskq.tasks set expires_at = clock_timestamp() where gate = 'p'");
    await queue.admin.rows('select taskq.expire(10)');
    expect(await queue.admin.value('select status::text from taskq.all_tasks where id = $1', b)).toBe(
      'expired',
    );
    const other = await waiting({ key: 'k2' });
    await queue.admin.rows('select taskq.cancel($1)', [other.b]);
    expect(await queue.admin.value('select status::text from taskq.all_tasks where id = $1', other.b)).toBe(
      'cancelled',
    );
  });

  test('keeps no worker from ending when it is idle', async () => {
    await waiting();
    await queue.admin.rows('delete from taskq.tasks where gate is null');
    expect(
      await queue.admin.row(
        'select unfinished, next_due_ms, left_for_later from taskq.count_unfinished($1)',
        ['work'],
      ),
    ).toEqual({ unfinished: '0', next_due_ms: null, left_for_later: { waiting_for_parents: 1 } });
  });

  test('is no member of its group yet', async () => {
    await waiting({ group: 'g' });
    expect(await queue.admin.rows("select * from taskq.list_groups('default')")).toEqual([]);
    expect(await queue.admin.rows('select * from taskq.asks')).toEqual([]);
    await queue.admin.rows('select taskq.revisit_groups(10, clock_timestamp())');
    expect(await queue.admin.rows('select * from taskq.asks')).toEqual([]);
  });

  test('follows the clock when that goes back', async () => {
    const { b, row } = await waiting({});
    await queue.admin.rows(
      `update taskq.tasks set created_at = created_at + interval '1 h', not_before = not_before + interval '1 h'
       where id = $1`,
      b,
    );
    await queue.admin.rows(
      "select taskq.make_due(0, 1000, clock_timestamp() + interval '1 h', clock_timestamp())",
    );
    expect(
      await queue.admin.value('select not_before <= clock_timestamp() from taskq.tasks where id = $1', b),
    ).toBe(true);
    expect(await row()).toMatchObject(WAITS);
  });
});

describe('a follow-up', () => {
  const settled = async (followUps: readonly object[], workflow: object = { open: true }) => {
    const { id } = await runWorkflow(queue.admin, [{ step: 'a' }], workflow);
    const worker = await registerWorker(await queue.session());
    const task = await claimOne(worker);
    const ended = { ...outcome(task, 'completed'), enqueue: followUps };
    const answers = await worker.session.rows(
      'select answer from taskq.settle_and_enqueue($1, $2)',
      worker.id,
      JSON.stringify([ended]),
    );
    return { id, task, answers, worker };
  };

  test('with a name or parents is a step of the workflow of its task; another one is none', async () => {
    const { id, answers } = await settled([
      { type: 'work', step: 'b', after: ['a'] },
      { type: 'work', after: ['b', 'a'] },
      { type: 'work' },
    ]);
    expect(answers).toEqual([{ answer: 'recorded' }]);
    const [b, unnamed, none] = await queue.admin.rows(
      'select id, step, workflow_id from taskq.tasks order by id',
    );
    expect(b).toMatchObject({ step: 'b', workflow_id: id });
    expect(unnamed).toEqual({
      id: expect.any(String),
      step: (unnamed as { id: string }).id,
      workflow_id: id,
    });
    expect(none).toMatchObject({ step: null, workflow_id: null });
    expect(await edges(queue.admin, id)).toHaveLength(3);
  });

  test('starts at once if its parent is the task that added it', async () => {
    const { worker } = await settled([{ type: 'work', step: 'b', after: ['a'], payload: { n: 2 } }]);
    expect(await claimOne(worker)).toMatchObject({ payload: { n: 2 } });
  });

  test('may be a step of another workflow', async () => {
    const other = await open();
    await settled([{ type: 'work', workflow: other.id, step: 'b', after: ['a'] }]);
    expect(await edges(queue.admin, other.id)).toEqual(['a -> b cancel']);
  });

  test.each([
    ['a step twice', { step: 'a' }, /has a step "a" already/],
    ['an unknown parent', { step: 'b', after: ['c'] }, /step "b" waits for "c"/],
  ])('that cannot be a step (%s) makes its task dead', async (_why, options, message) => {
    const { task, answers } = await settled([{ type: 'work', ...options }]);
    expect(answers).toEqual([{ answer: 'recorded' }]);
    const dead = await queue.admin.row('select reason, error from taskq.dead_tasks where id = $1', task.id);
    expect(dead).toMatchObject({
      reason: 'follow_up_refused',
      error: { message: expect.stringMatching(message) },
    });
    expect(await queue.admin.rows('select from taskq.tasks')).toHaveLength(0);
  });

  test.each(['cancelled', 'failed fast'])(
    'of a task whose workflow has %s meanwhile completes it, is cancelled, and comes back with a retry',
    async (why) => {
      const { id } = await runWorkflow(queue.admin, [{ step: 'a' }, { step: 'z' }], {
        ...{ open: true, fail_fast: true },
      });
      const worker = await registerWorker(await queue.session());
      const [a, z] = [await claimOne(worker), await claimOne(worker)];
      if (why === 'cancelled') await queue.admin.rows('select taskq.cancel_workflow($1)', id);
      else {
        await worker.settle(outcome(z, 'dead'));
        await worker.claim();
        await expect(enqueue(queue.admin, { workflow: id, step: 'late' })).rejects.toThrow(
          `enqueue: workflow ${id} ("flow") has failed, and cancels its steps: retry it first`,
        );
      }
      const ended = { ...outcome(a, 'completed'), enqueue: [{ type: 'work', step: 'b', after: ['a'] }] };
      expect(
        await worker.session.rows(
          'select answer from taskq.settle_and_enqueue($1, $2)',
          worker.id,
          JSON.stringify([ended]),
        ),
      ).toEqual([{ answer: 'recorded' }]);
      expect(await worker.claim()).toEqual([]);
      const statuses = async () =>
        Object.fromEntries(
          (await stepRows(queue.admin, id)).map(({ step, status }) => [step as string, status]),
        );
      expect(await statuses()).toMatchObject({ a: 'completed', b: 'cancelled' });
      if (why === 'cancelled') await worker.settle(outcome(z, 'cancelled'));
      await worker.claim();
      await queue.admin.rows('select taskq.retry_workflow($1)', id);
      expect(await statuses()).toEqual({ a: 'completed', b: 'released', z: 'released' });
    },
  );

  test('waits in a workflow that was cancelled until it is cancelled too, also while others attend to that', async () => {
    const { id } = await runWorkflow(queue.admin, [{ step: 'a' }, { step: 'z' }], { open: true });
    const [one, two] = [
      await registerWorker(await queue.session()),
      await registerWorker(await queue.session()),
    ];
    const [a, z] = [await claimOne(one), await claimOne(two)];
    await queue.admin.rows('select taskq.cancel_workflow($1)', id);
    await two.settle(outcome(z, 'completed'));
    await two.session.rows('begin');
    await two.claim();
    const ended = { ...outcome(a, 'completed'), enqueue: [{ type: 'work', step: 'b' }] };
    await one.session.rows('select * from taskq.settle_and_enqueue($1, $2)', one.id, JSON.stringify([ended]));
    expect(await one.claim()).toEqual([]);
    await two.session.rows('commit');
    expect(await one.claim()).toEqual([]);
    expect(await queue.admin.value('select state from taskq.workflows where id = $1', id)).toBe('cancelled');
  });

  test('into a cancelled workflow that is not that of its task is refused', async () => {
    const other = await open();
    await queue.admin.rows('select taskq.cancel_workflow($1)', other.id);
    const { task } = await settled([{ type: 'work', workflow: other.id, step: 'b' }]);
    expect(await queue.admin.value('select reason from taskq.dead_tasks where id = $1', task.id)).toBe(
      'follow_up_refused',
    );
  });

  test('of a closed workflow makes its task dead', async () => {
    const { task } = await settled([{ type: 'work', step: 'b' }], {});
    expect(await queue.admin.value('select reason from taskq.dead_tasks where id = $1', task.id)).toBe(
      'follow_up_refused',
    );
  });
});
