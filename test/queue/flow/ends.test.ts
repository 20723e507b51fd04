import { describe, expect, test } from 'vitest';
import { enqueue, statusOf } from '../rows.ts';
import { waitUntilBlocked } from '../waiting.ts';
import { type Claimed, outcome, type PlainWorker } from '../worker.ts';
import { addStep, claimSteps, insertWorkflow, settleAll, useWorkflows } from './workflows.ts';

const { queue, worker, claimed, statuses, workflow, taskOf, expectSettled } = useWorkflows();

/** The payloads of the tasks of this type, in the order in which they were enqueued. */
const payloadsOf = async (type: string) =>
  (
    await queue.admin.rows<{ payload: unknown }>(
      'select payload from taskq.tasks where type = $1 order by id',
      type,
    )
  ).map(({ payload }) => payload);

const passTime = () =>
  queue.admin.rows(
    "update taskq.workflow_asks set due_at = due_at - interval '10 s' where due_at > clock_timestamp()",
  );

describe('a workflow that may lose no step', () => {
  const wide = [
    { step: 'a' },
    { step: 'b' },
    { step: 'c', after: ['b'] },
    { step: 'd', after: ['a:wait'] },
    { step: 'e' },
  ];

  test('fails fast: it cancels what waits, asks what runs, and says so once', async () => {
    const id = await insertWorkflow(queue.admin, wide, {
      fail_fast: true,
      on_failing: { type: 'failing', payload: { to: 'ops' } },
    });
    const me = await worker();
    const [a, b] = await claimSteps(me, 2);
    await settleAll(me, [a!], 'dead');
    expect(await claimed(me)).toEqual([]);
    expect(await statuses(id)).toEqual({
      a: 'dead',
      b: 'released',
      c: 'cancelled',
      d: 'cancelled',
      e: 'cancelled',
    });
    expect(await me.heartbeat([b!])).toMatchObject([
      { cancel_requested: true, cancel_reason: 'its workflow failed' },
    ]);
    expect(await payloadsOf('failing')).toEqual([
      { to: 'ops', workflow: { id, name: 'test', state: 'running' } },
    ]);
    await settleAll(me, [b!], 'failed');
    expect(await claimed(me)).toEqual([]);
    expect(await statuses(id)).toMatchObject({ b: 'cancelled' });
    expect(await workflow(id)).toMatchObject({ state: 'failed', live_steps: 0 });
    expect(await payloadsOf('failing')).toHaveLength(1);
    await expectSettled(id);
  });

  test('is told of the death that is one too many, and goes on without failing fast', async () => {
    const id = await insertWorkflow(queue.admin, wide, { max_dead: 1, on_failing: { type: 'failing' } });
    const me = await worker();
    const [a, b, e] = await claimSteps(me);
    await settleAll(me, [a!], 'dead');
    expect(await claimed(me)).toEqual([]);
    expect(await payloadsOf('failing')).toEqual([]);
    await settleAll(me, [b!], 'dead');
    expect(await claimed(me)).toEqual([]);
    expect(await payloadsOf('failing')).toHaveLength(1);
    await settleAll(me, [e!]);
    expect(await claimed(me)).toEqual([]);
    // c was cancelled by the death of b, which counts once.
    expect(await workflow(id)).toMatchObject({ state: 'stuck', deaths: 2 });
    expect(await payloadsOf('failing')).toHaveLength(1);
  });
});

test('on_end follows the end, with how its steps have ended', async () => {
  const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b' }, { step: 'c', after: ['b'] }], {
    on_end: { type: 'done', payload: { n: 1 } },
  });
  const me = await worker();
  const [a, b] = await claimSteps(me);
  await settleAll(me, [a!]);
  await settleAll(me, [b!], 'dead');
  expect(await claimed(me)).toEqual([]);
  expect(await payloadsOf('done')).toEqual([
    { n: 1, workflow: { id, name: 'test', state: 'failed', steps: { completed: 1, dead: 1, cancelled: 1 } } },
  ]);
  await expectSettled(id);
});

test('an ask that is left for later takes no workflow back that has ended', async () => {
  const id = await insertWorkflow(queue.admin, [{ step: 'a' }], { on_end: { type: 'done' } });
  const me = await worker();
  await settleAll(me, await claimSteps(me));
  expect(await claimed(me)).toEqual([]);
  // As where an on_step task has ended, and the database refuses the next one.
  await queue.admin.rows(
    `insert into taskq.workflow_asks (due_at, workflow_id)
     select clock_timestamp() + n * interval '5 s', $1 from generate_series(0, 1) as n`,
    id,
  );
  expect(await claimed(me)).toEqual([]);
  expect(await workflow(id)).toMatchObject({ state: 'completed' });
  await passTime();
  expect(await claimed(me)).toEqual([]);
  expect(await payloadsOf('done')).toHaveLength(1);
  await expectSettled(id);
});

test('a workflow whose death was taken as an end completes', async () => {
  const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b', after: ['a:continue'] }]);
  const me = await worker();
  await settleAll(me, await claimSteps(me), 'dead');
  await settleAll(me, await claimSteps(me));
  await claimed(me);
  expect(await workflow(id)).toMatchObject({ state: 'completed' });
});

test('what cannot be enqueued at the end becomes a dead letter, and the workflow ends', async () => {
  const id = await insertWorkflow(queue.admin, [{ step: 'a' }], { on_end: { type: 'done' } });
  await queue.admin.rows(
    "alter table taskq.tasks add constraint application check (type <> 'done') not valid",
  );
  const me = await worker();
  await settleAll(me, await claimSteps(me));
  await claimed(me);
  await queue.admin.rows('alter table taskq.tasks drop constraint application');
  expect(await workflow(id)).toMatchObject({ state: 'completed' });
  expect(await queue.admin.rows('select type from taskq.dead_tasks')).toEqual([{ type: 'done' }]);
});

test('a dead step of a workflow that has failed fast, or was cancelled, stays a dead letter until the workflow is retried', async () => {
  const me = await worker();
  const failing = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b' }], { fail_fast: true });
  await settleAll(me, await claimSteps(me, 1), 'dead');
  expect(await claimed(me)).toEqual([]);
  const cancelled = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b' }]);
  await settleAll(me, await claimSteps(me, 1), 'dead');
  await queue.admin.rows('select taskq.cancel_workflow($1)', cancelled);
  for (const [id, why] of [
    [failing, 'has failed fast'],
    [cancelled, 'was cancelled'],
  ] as const) {
    const revived = await queue.admin.rows('select answer, extra from taskq.revive($1)', [
      await taskOf(id, 'a'),
    ]);
    expect(revived).toEqual([
      {
        answer: 'refused',
        extra: { error: `its workflow ${id} ${why}; a retry of the workflow brings it back`, code: '55000' },
      },
    ]);
    expect(await statuses(id)).toEqual({ a: 'dead', b: 'cancelled' });
    await queue.admin.rows('select taskq.retry_workflow($1)', id);
    expect((await claimSteps(me)).map(({ id: task }) => task)).toContain(await taskOf(id, 'a'));
  }
});

test('on_failing does not follow a cancel', async () => {
  const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b' }], {
    on_failing: { type: 'failing' },
  });
  const me = await worker();
  await claimSteps(me, 1);
  await queue.admin.rows('select taskq.cancel_workflow($1)', id);
  expect(await statuses(id)).toEqual({ a: 'released', b: 'cancelled' });
  expect(await payloadsOf('failing')).toEqual([]);
});

describe('on_step', () => {
  const open = { is_open: true, on_step: { type: 'plan' } };

  test('follows the last end too, but not that of a cancelled workflow', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }], { ...open, is_open: false });
    const cancelled = await insertWorkflow(queue.admin, [{ step: 'a' }], { ...open, is_open: false });
    await queue.admin.rows('select taskq.cancel_workflow($1)', cancelled);
    const me = await worker();
    await settleAll(me, await claimSteps(me));
    expect(await claimed(me)).toEqual([]);
    expect(await payloadsOf('plan')).toEqual([{ workflow: { id, name: 'test', state: 'completed' } }]);
  });

  test('follows the end of steps, one at a time, and none is lost', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b' }, { step: 'c' }], open);
    const me = await worker();
    const [a, b, c] = await claimSteps(me);
    await settleAll(me, [a!, b!]);
    expect(await claimed(me)).toEqual([]);
    expect(await payloadsOf('plan')).toEqual([{ workflow: { id, name: 'test', state: 'open' } }]);
    const [plan] = await me.claim({ types: ['plan'] });
    await settleAll(me, [c!]);
    expect(await claimed(me)).toEqual([]);
    expect(await payloadsOf('plan')).toHaveLength(1);
    await me.settle(outcome(plan!, 'completed'));
    expect(await claimed(me)).toEqual([]);
    expect(await payloadsOf('plan')).toHaveLength(1);
    const [next] = await me.claim({ types: ['plan'] });
    await me.settle(outcome(next!, 'completed'));
    expect(await claimed(me)).toEqual([]);
    expect(await payloadsOf('plan')).toEqual([]);
    expect(await workflow(id)).toMatchObject({ state: 'open', step_due: false });
    await expectSettled(id);
  });

  test('waits for nobody while the one before it ends in an open transaction', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b' }], open);
    const [me, other] = [await worker(), await worker()];
    const [a, b] = await claimSteps(me);
    await settleAll(me, [a!]);
    expect(await claimed(other)).toEqual([]);
    const [plan] = await me.claim({ types: ['plan'] });
    await me.session.rows('begin');
    await me.settle(outcome(plan!, 'completed'));
    const second = await queue.session();
    await second.rows(
      'select * from taskq.settle($1, $2)',
      me.id,
      JSON.stringify([outcome(b!, 'completed')]),
    );
    expect(await claimed(other)).toEqual([]);
    expect(await workflow(id)).toMatchObject({ step_due: true });
    await me.session.rows('commit');
    expect(await claimed(other)).toEqual([]);
    expect(await payloadsOf('plan')).toHaveLength(1);
  });

  test('is tried again while a stranger has its key', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }], open);
    const stranger = await enqueue(queue.admin, { key: `workflow:${id}` });
    const me = await worker();
    const tasks = await me.claim({ start: 2 });
    await settleAll(
      me,
      tasks.filter((task) => task.id !== stranger),
    );
    expect(await claimed(me)).toEqual([]);
    expect(await payloadsOf('plan')).toEqual([]);
    await settleAll(
      me,
      tasks.filter((task) => task.id === stranger),
    );
    await passTime();
    expect(await claimed(me)).toEqual([]);
    expect(await payloadsOf('plan')).toHaveLength(1);
  });
});

const orchestrated = { is_open: true, on_step: { type: 'plan' } };

const stateOf = async (id: string) => (await workflow(id))!.state;

const retryOf = (id: string) =>
  queue.admin.rows('select step, task_id, answer from taskq.retry_workflow($1)', id);

describe('a workflow that its on_step task adds steps to', () => {
  test('is open again after a retry, so that the task goes on', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }], {
      ...orchestrated,
      on_end: { type: 'done' },
    });
    const me = await worker();
    await settleAll(me, await claimSteps(me), 'dead');
    await claimed(me);
    const closing = await me.claim({ types: ['plan'] });
    await queue.admin.rows('select taskq.close_workflow($1)', id);
    await settleAll(me, closing);
    await claimed(me);
    expect(await stateOf(id)).toBe('failed');

    const [next, ...steps] = await retryOf(id);
    expect(steps).toEqual([{ step: 'a', task_id: await taskOf(id, 'a'), answer: 'retried' }]);
    expect(next).toMatchObject({ step: null, answer: 'retried' });
    expect(await workflow(id)).toMatchObject({ state: 'open', is_open: true, ended_at: null });
    const [plan] = await me.claim({ types: ['plan'] });
    expect(plan!.id).toBe((next as { task_id: string }).task_id);
    await addStep(queue.admin, id, { step: 'b', after: ['a'] });
    await settleAll(me, [plan!, ...(await claimSteps(me))]);
    expect(await claimed(me)).toEqual(['b']);
    await expectSettled(id);
  });

  test('goes on after a cancel between two steps', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }], orchestrated);
    const me = await worker();
    await settleAll(me, await claimSteps(me));
    await claimed(me);
    await settleAll(me, await me.claim({ types: ['plan'] }));
    await queue.admin.rows('select taskq.cancel_workflow($1)', id);
    expect(await stateOf(id)).toBe('cancelled');
    expect(await retryOf(id)).toMatchObject([{ step: null, answer: 'retried' }]);
    expect(await stateOf(id)).toBe('open');
    expect(await me.claim({ types: ['plan'] })).toHaveLength(1);
  });

  test('is stuck while that task is a dead letter and no step runs, until it returns', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b' }], orchestrated);
    const me = await worker();
    const [a, b] = await claimSteps(me);
    const die = async () => {
      const [plan] = await me.claim({ types: ['plan'] });
      await settleAll(me, [plan!], 'dead');
      await claimed(me);
      return plan!.id;
    };
    await settleAll(me, [a!]);
    await claimed(me);
    const plan = await die();
    expect(await stateOf(id)).toBe('open');
    await settleAll(me, [b!]);
    await claimed(me);
    // The end of b was followed by another one.
    const second = await die();
    expect(second).not.toBe(plan);
    expect(await stateOf(id)).toBe('stuck');
    await addStep(queue.admin, id, { step: 'c' });
    expect(await claimed(me)).toEqual(['c']);
    expect(await stateOf(id)).toBe('open');

    await queue.admin.rows('select * from taskq.discard(array[$1::bigint])', plan);
    await settleAll(me, [
      {
        ...b!,
        ...(await queue.admin.row<Claimed>("select id, lease_no from taskq.tasks where step = 'c'"))!,
      },
    ]);
    await claimed(me);
    const third = await die();
    expect(await stateOf(id)).toBe('stuck');
    await queue.admin.rows('select * from taskq.revive(array[$1::bigint])', third);
    await claimed(me);
    expect(await stateOf(id)).toBe('open');
    await die();
    expect(await stateOf(id)).toBe('stuck');
    expect(await retryOf(id)).toEqual([{ step: null, task_id: third, answer: 'retried' }]);
    expect(await stateOf(id)).toBe('open');
    await settleAll(me, await me.claim({ types: ['plan'] }));
    await claimed(me);
    expect(await stateOf(id)).toBe('open');
  });
});

describe('a workflow whose on_step task', () => {
  /** A worker, and a workflow whose only step has ended, with the task that is to follow. */
  async function followed(columns: object = {}) {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }], { ...orchestrated, ...columns });
    const me = await worker();
    await settleAll(me, await claimSteps(me));
    await claimed(me);
    const [plan] = await me.claim({ types: ['plan'] });
    return { id, me, plan: plan! };
  }

  test.each([
    ['is cancelled', (me: PlainWorker, plan: Claimed) => me.settle(outcome(plan, 'cancelled'))],
    [
      'runs again and dies then',
      async (me: PlainWorker, plan: Claimed) => {
        await me.settle(outcome(plan, 'completed', { again: {} }));
        await settleAll(me, await me.claim({ types: ['plan'] }), 'dead');
      },
    ],
    [
      'is discarded as a dead letter',
      async (me: PlainWorker, plan: Claimed) => {
        await settleAll(me, [plan], 'dead');
        await queue.admin.rows('select * from taskq.discard(array[$1::bigint])', plan.id);
      },
    ],
  ])('%s goes on with a retry', async (_how, end) => {
    const { id, me, plan } = await followed();
    await end(me, plan);
    await claimed(me);
    expect(await stateOf(id)).toMatch(_how.startsWith('is discarded') ? 'open' : 'stuck');
    expect(await retryOf(id)).toMatchObject([{ step: null, answer: 'retried' }]);
    expect(await stateOf(id)).toBe('open');
    expect(await me.claim({ types: ['plan'] })).toHaveLength(1);
  });

  test('is live is not stuck, whichever of them it is', async () => {
    const { id, me, plan } = await followed();
    await settleAll(me, [plan], 'dead');
    await addStep(queue.admin, id, { step: 'b' });
    await settleAll(me, await claimSteps(me));
    await claimed(me);
    await settleAll(me, await me.claim({ types: ['plan'] }), 'dead');
    await claimed(me);
    expect(await stateOf(id)).toBe('stuck');
    await queue.admin.rows('select * from taskq.revive(array[$1::bigint])', plan.id);
    await claimed(me);
    expect(await stateOf(id)).toBe('open');
  });

  test('began before a retry does not close it: the next one decides', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }], orchestrated);
    const me = await worker();
    await settleAll(me, await claimSteps(me), 'dead');
    await claimed(me);
    const [outdated] = await me.claim({ types: ['plan'] });
    expect(await retryOf(id)).toMatchObject([
      { step: null, task_id: outdated!.id, answer: 'retried' },
      { step: 'a', answer: 'retried' },
    ]);
    await expect(queue.admin.rows('select taskq.close_workflow($1)', id)).rejects.toThrow(
      `workflow ${id} was retried after its on_step task had begun, and stays open`,
    );
    await settleAll(me, [outdated!]);
    await claimed(me);
    const [next] = await me.claim({ types: ['plan'] });
    expect(await queue.admin.value('select taskq.close_workflow($1)', id)).toBe(true);
    await settleAll(me, [next!]);
  });

  test('runs once more when it has failed fast, and not for what it adds then', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'z' }], {
      ...{ ...orchestrated, fail_fast: true },
    });
    const me = await worker();
    const [a, z] = await claimSteps(me);
    await settleAll(me, [a!], 'dead');
    await claimed(me);
    expect(await me.claim({ types: ['plan'] })).toEqual([]);
    await settleAll(me, [z!]);
    await claimed(me);
    const [plan] = await me.claim({ types: ['plan'] });
    const added = {
      ...outcome(plan!, 'completed'),
      enqueue: [{ type: 'work', step: 'b', allow_unknown: true }],
    };
    await me.session.rows('select * from taskq.settle_and_enqueue($1, $2)', me.id, JSON.stringify([added]));
    await claimed(me);
    expect(await statuses(id)).toMatchObject({ b: 'cancelled' });
    expect(await me.claim({ types: ['plan'] })).toEqual([]);
    expect(await stateOf(id)).toBe('stuck');
    expect((await retryOf(id)).map((row) => (row as { step: string | null }).step)).toEqual([null, 'a', 'b']);
    expect(await me.claim({ types: ['plan'] })).toHaveLength(1);
  });
});

test('a retry opens a workflow again that was cancelled while it was open, and one whose producer closed it stays closed', async () => {
  const columns = { is_open: true, on_step: { type: 'watch' } };
  const cancelled = await insertWorkflow(queue.admin, [{ step: 'a' }], { is_open: true });
  await queue.admin.rows('select taskq.cancel_workflow($1)', cancelled);
  await queue.admin.rows('select taskq.retry_workflow($1)', cancelled);
  expect(await workflow(cancelled)).toMatchObject({ state: 'open', is_open: true });
  await addStep(queue.admin, cancelled, { step: 'b' });
  const me = await worker();
  expect(await claimed(me)).toEqual(['a', 'b']);

  const closed = await insertWorkflow(queue.admin, [{ step: 'a' }], columns);
  await queue.admin.rows('select taskq.close_workflow($1)', closed);
  await settleAll(me, await claimSteps(me), 'dead');
  await claimed(me);
  await queue.admin.rows('select taskq.retry_workflow($1)', closed);
  await settleAll(me, await claimSteps(me));
  await claimed(me);
  expect(await workflow(closed)).toMatchObject({ state: 'completed' });
});

test('a retry brings back a step that has expired, which may start at any time now, and what was cancelled after it', async () => {
  const me = await worker();
  const id = await queue.admin.value<string>(
    `select id from taskq.run_workflow(
       '{"name": "w", "steps": [{"step": "a", "type": "work", "expires_ms": 60000}, {"step": "b", "type": "work", "after": ["a"]}]}')`,
  );
  await queue.admin.rows("update taskq.tasks set expires_at = clock_timestamp() where step = 'a'");
  await queue.admin.rows('select taskq.expire(10)');
  expect(await claimed(me)).toEqual([]);
  expect(await statuses(id)).toEqual({ a: 'expired', b: 'cancelled' });
  expect(await workflow(id)).toMatchObject({ state: 'failed' });
  expect((await retryOf(id)).map((row) => (row as { step: string }).step)).toEqual(['a', 'b']);
  expect(await queue.admin.rows("select expires_at from taskq.tasks where step = 'a'")).toEqual([
    { expires_at: null },
  ]);
  await settleAll(me, await claimSteps(me));
  await settleAll(me, await claimSteps(me));
  await claimed(me);
  expect(await workflow(id)).toMatchObject({ state: 'completed' });
});

test('what a retry could not bring back does not let a workflow fail again', async () => {
  const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b' }], { fail_fast: true });
  const me = await worker();
  const [a] = await claimSteps(me, 1);
  await settleAll(me, [a!], 'dead');
  await claimed(me);
  await queue.admin.rows('select * from taskq.discard(array[$1::bigint])', a!.id);
  expect(await queue.admin.rows('select step, answer from taskq.retry_workflow($1) order by 1', id)).toEqual([
    { step: 'a', answer: 'gone' },
    { step: 'b', answer: 'retried' },
  ]);
  expect(await claimed(me)).toEqual(['b']);
});

test('a retried step that had started does not wait for its time again; one that had not, does', async () => {
  const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b' }]);
  await queue.admin.rows(
    `select taskq.edit(array_agg(id), '{"delay_ms": 3600000}') from taskq.tasks where workflow_id = $1`,
    id,
  );
  const me = await worker();
  await queue.admin.rows('select taskq.retry(array[$1::bigint])', await taskOf(id, 'a'));
  await settleAll(me, await claimSteps(me), 'dead');
  await queue.admin.rows(`select taskq.cancel(array_agg(id)) from taskq.tasks where workflow_id = $1`, id);
  expect(await claimed(me)).toEqual([]);
  await queue.admin.rows('select taskq.retry_workflow($1)', id);
  expect(await statuses(id)).toEqual({ a: 'released', b: 'released' });
  expect(await claimed(me)).toEqual(['a']);
});

describe('cancel', () => {
  const cancel = (id: string, reason: string | null = null) =>
    queue.admin.row('select * from taskq.cancel_workflow($1, $2)', id, reason);

  test('ends what waits at once, asks what runs, and the workflow is cancelled when that has ended', async () => {
    const id = await insertWorkflow(
      queue.admin,
      [{ step: 'a' }, { step: 'b', after: ['a'] }, { step: 'c' }],
      {
        on_end: { type: 'done' },
      },
    );
    const me = await worker();
    const tasks = await claimSteps(me, 1);
    expect(await cancel(id, 'no longer wanted')).toEqual({ answer: 'requested', extra: null });
    expect(await statuses(id)).toEqual({ a: 'released', b: 'cancelled', c: 'cancelled' });
    expect(await me.heartbeat(tasks)).toMatchObject([
      { cancel_requested: true, cancel_reason: 'no longer wanted' },
    ]);
    await settleAll(me, tasks, 'cancelled');
    expect(await claimed(me)).toEqual([]);
    expect(await workflow(id)).toMatchObject({ state: 'cancelled' });
    expect(await payloadsOf('done')).toMatchObject([
      { workflow: { state: 'cancelled', steps: { cancelled: 3 } } },
    ]);
    expect(await cancel(id)).toEqual({ answer: 'not_live', extra: { state: 'cancelled' } });
    await expectSettled(id);
  });

  test('ends one of which nothing runs at once', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b', after: ['a'] }]);
    expect(await cancel(id)).toEqual({ answer: 'cancelled', extra: null });
    expect(await workflow(id)).toMatchObject({ state: 'cancelled', live_steps: 0 });
    await expectSettled(id);
    expect(await cancel('999999999')).toEqual({ answer: 'not_live', extra: { state: null } });
  });

  test('a step that is added by a transaction that commits later ends too', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }], { is_open: true });
    const application = await queue.session();
    await application.rows('begin');
    await addStep(application, id, { step: 'b' });
    await cancel(id);
    await application.rows('commit');
    const me = await worker();
    expect(await claimed(me)).toEqual([]);
    expect(await statuses(id)).toEqual({ a: 'cancelled', b: 'cancelled' });
    expect(await workflow(id)).toMatchObject({ state: 'cancelled' });
  });

  /** A workflow that was cancelled while a transaction, which commits then, added a step to it. */
  async function cancelledWithLateStep(): Promise<string> {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }], {
      is_open: true,
      on_end: { type: 'done' },
    });
    const application = await queue.session();
    await application.rows('begin');
    await enqueue(application, { workflow: id, step: 'b' });
    expect(await cancel(id)).toEqual({ answer: 'cancelled', extra: null });
    await application.rows('commit');
    return id;
  }

  test('one that has ended stays so while such a step is locked, and its end is said once', async () => {
    const id = await cancelledWithLateStep();
    const person = await queue.session();
    await person.rows('begin');
    await person.rows('select from taskq.tasks where id = $1 for update', await taskOf(id, 'b'));
    const me = await worker();
    expect(await claimed(me)).toEqual([]);
    expect(await workflow(id)).toMatchObject({ state: 'cancelled', live_steps: 1 });
    await person.rows('commit');
    await passTime();
    expect(await claimed(me)).toEqual([]);
    expect(await statuses(id)).toEqual({ a: 'cancelled', b: 'cancelled' });
    expect(await payloadsOf('done')).toHaveLength(1);
    await expectSettled(id);
  });

  test('and while such a step runs, which is asked to end', async () => {
    const id = await cancelledWithLateStep();
    const me = await worker();
    const [late] = await me.session.rows<Claimed>(
      'select * from taskq.claim_one($1, $2, 30000)',
      me.id,
      await taskOf(id, 'b'),
    );
    expect(await claimed(me)).toEqual([]);
    expect(await workflow(id)).toMatchObject({ state: 'cancelled', live_steps: 1 });
    expect(await me.heartbeat([late!])).toMatchObject([{ cancel_requested: true }]);
    await settleAll(me, [late!], 'cancelled');
    expect(await claimed(me)).toEqual([]);
    expect(await workflow(id)).toMatchObject({ state: 'cancelled', live_steps: 0 });
    expect(await payloadsOf('done')).toHaveLength(1);
    await expectSettled(id);
  });

  test('a retry brings back such a step too, and waits for those who still add some', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }], {
      is_open: true,
      on_end: { type: 'done' },
    });
    const application = await queue.session();
    await application.rows('begin');
    await enqueue(application, { workflow: id, step: 'b' });
    await cancel(id);
    const operator = await queue.session();
    const retried = operator.rows('select step, answer from taskq.retry_workflow($1)', id);
    await waitUntilBlocked(queue.admin);
    await application.rows('commit');
    expect(await retried).toEqual([{ step: 'a', answer: 'retried' }]);
    const me = await worker();
    const tasks = await claimSteps(me);
    expect(tasks.map(({ step }) => step).sort()).toEqual(['a', 'b']);
    await settleAll(me, tasks);
    expect(await claimed(me)).toEqual([]);
    // It was open, and is again.
    await queue.admin.rows('select taskq.close_workflow($1)', id);
    expect(await payloadsOf('done')).toMatchObject([
      { workflow: { state: 'cancelled' } },
      { workflow: { state: 'completed' } },
    ]);
    await expectSettled(id);
  });

  test('a retry takes back the cancel of such a step alone', async () => {
    const id = await insertWorkflow(queue.admin, [], { is_open: true });
    const application = await queue.session();
    await application.rows('begin');
    await enqueue(application, { workflow: id, step: 'b' });
    await cancel(id);
    await application.rows('commit');
    await queue.admin.rows('select taskq.retry_workflow($1)', id);
    const me = await worker();
    expect(await claimed(me)).toEqual(['b']);
    expect(await workflow(id)).toMatchObject({ state: 'open', ended_at: null });
    await expectSettled(id);
  });
});

describe('retry', () => {
  const retry = (id: string) =>
    queue.admin.rows<{ step: string; answer: string; extra: unknown }>(
      'select step, answer, extra from taskq.retry_workflow($1)',
      id,
    );
  const diamond = [
    { step: 'a', task: { payload: '{"n": 7}', max_attempts: 1 } },
    { step: 'b', after: ['a'] },
    { step: 'c', after: ['b'], task: { priority: 1, retention: 'none', timeout_ms: 77 } },
    { step: 'd' },
  ];

  test('brings back what has died, under its id and with its options, and keeps what has completed', async () => {
    const id = await insertWorkflow(queue.admin, diamond);
    const ids = [await taskOf(id, 'a'), await taskOf(id, 'b'), await taskOf(id, 'c')];
    const me = await worker();
    const [a, d] = await claimSteps(me);
    await me.settle(outcome(d!, 'completed', { result: 7 }));
    await settleAll(me, [a!], 'failed');
    expect(await claimed(me)).toEqual([]);
    expect(await workflow(id)).toMatchObject({ state: 'failed' });
    expect(await retry(id)).toEqual(
      ['a', 'b', 'c'].map((step) => ({ step, answer: 'retried', extra: null })),
    );
    expect(await statuses(id)).toEqual({ a: 'released', b: 'waiting', c: 'waiting', d: 'completed' });
    expect(await retry(id)).toEqual([]);
    const again = await claimSteps(me);
    expect(again).toMatchObject([{ step: 'a', id: ids[0], payload: { n: 7 }, attempts: 0 }]);
    expect(again[0]!.lease_no).not.toBe(a!.lease_no);
    // The outcome of the lease from before changes nothing.
    expect((await settleAll(me, [a!]))[0]).toMatchObject({ answer: expect.not.stringMatching('recorded') });
    await settleAll(me, again);
    const b = await claimSteps(me);
    expect(b).toMatchObject([{ step: 'b', id: ids[1] }]);
    await settleAll(me, b);
    const c = await claimSteps(me);
    expect(c).toMatchObject([{ step: 'c', id: ids[2], priority: 1, timeout_ms: '77' }]);
    await settleAll(me, c);
    await claimed(me);
    expect(await workflow(id)).toMatchObject({ state: 'completed', deaths: 0 });
    expect(await queue.admin.value("select result from taskq.workflow_steps where step = 'd'")).toBe(7);
    for (const one of ids) expect(await statusOf(queue.admin, one)).not.toBe('dead');
    await expectSettled(id);
  });

  test('starts no step before the time asked for', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b', after: ['a'] }]);
    await queue.admin.rows("update taskq.tasks set not_before = now() + interval '1 hour'");
    await queue.admin.rows("update taskq.tasks set available_at = not_before where status = 'pending'");
    await queue.admin.rows('select taskq.cancel_workflow($1)', id);
    await retry(id);
    const me = await worker();
    expect(await claimed(me)).toEqual([]);
    expect(
      await queue.admin.value("select min(not_before) > now() + interval '59 minutes' from taskq.tasks"),
    ).toBe(true);
    expect(await queue.admin.value("select status::text from taskq.tasks where step = 'a'")).toBe('pending');
  });

  test('of a cancelled workflow lets it go on', async () => {
    const id = await insertWorkflow(queue.admin, diamond);
    const me = await worker();
    await queue.admin.rows('select taskq.cancel_workflow($1)', id);
    expect(await retry(id)).toHaveLength(4);
    const first = await claimSteps(me);
    expect(first.map(({ step }) => step).sort()).toEqual(['a', 'd']);
    await settleAll(me, first);
    await settleAll(me, await claimSteps(me));
    await settleAll(me, await claimSteps(me));
    await claimed(me);
    expect(await workflow(id)).toMatchObject({ state: 'completed', cancel_requested_at: null });
    await expectSettled(id);
  });

  describe('of a cancelled workflow of which a step still runs', () => {
    const cancelled = async (steps: Parameters<typeof insertWorkflow>[1]) => {
      const id = await insertWorkflow(queue.admin, steps);
      const me = await worker();
      const tasks = await claimSteps(me, 1);
      await queue.admin.rows('select taskq.cancel_workflow($1)', id);
      return { id, me, tasks };
    };
    const row = (step: string, answer: string) => ({ step, answer, extra: null });

    test('takes its request back: one that fails then is tried again', async () => {
      const { id, me, tasks } = await cancelled([{ step: 'a' }, { step: 'b', after: ['a'] }]);
      expect(await retry(id)).toEqual([row('b', 'retried'), row('a', 'ending')]);
      expect(await me.heartbeat(tasks)).toMatchObject([{ cancel_requested: false, cancel_reason: null }]);
      await me.settle(outcome(tasks[0]!, 'failed', { delay_ms: 0 }));
      expect(await statuses(id)).toEqual({ a: 'released', b: 'waiting' });
      await settleAll(me, await claimSteps(me));
      await settleAll(me, await claimSteps(me));
      await claimed(me);
      expect(await workflow(id)).toMatchObject({ state: 'completed' });
      await expectSettled(id);
    });

    test('says so, and brings it back once its handler has ended because of the request', async () => {
      const { id, me, tasks } = await cancelled([{ step: 'a' }]);
      expect(await retry(id)).toEqual([row('a', 'ending')]);
      expect(await workflow(id)).toMatchObject({ state: 'running', cancel_requested_at: null });
      await settleAll(me, tasks, 'cancelled');
      await claimed(me);
      expect(await workflow(id)).toMatchObject({ state: 'failed' });
      expect(await retry(id)).toEqual([row('a', 'retried')]);
      await settleAll(me, await claimSteps(me));
      await claimed(me);
      expect(await workflow(id)).toMatchObject({ state: 'completed' });
      await expectSettled(id);
    });

    test('waits for nobody who has locked its task', async () => {
      const { id, me, tasks } = await cancelled([{ step: 'a' }]);
      await me.session.rows('begin');
      await settleAll(me, tasks);
      expect(await retry(id)).toEqual([row('a', 'ending')]);
      await me.session.rows('commit');
      await claimed(me);
      expect(await workflow(id)).toMatchObject({ state: 'completed' });
      await expectSettled(id);
    });
  });

  test('counts what ends meanwhile once', async () => {
    const id = await insertWorkflow(queue.admin, diamond);
    const me = await worker();
    const [a, d] = await claimSteps(me);
    await settleAll(me, [a!], 'failed');
    // Nothing has attended to the death yet.
    await retry(id);
    await settleAll(me, [d!]);
    const again = await claimSteps(me);
    expect(again.map(({ step }) => step)).toEqual(['a']);
    expect(await workflow(id)).toMatchObject({
      live_steps: 3,
      waiting_steps: 2,
      deaths: 0,
      state: 'running',
    });
    await settleAll(me, again);
    expect(await claimed(me)).toEqual(['b']);
    await expectSettled(id);
  });

  test('says what cannot return, and what is below that is cancelled again', async () => {
    const id = await insertWorkflow(queue.admin, [
      { step: 'a', task: { unique_key: 'k' } },
      { step: 'b', after: ['a'] },
      { step: 'x' },
      { step: 'y', after: ['x'] },
    ]);
    const me = await worker();
    await settleAll(me, await claimSteps(me), 'dead');
    await claimed(me);
    const holder = await enqueue(queue.admin, { key: 'k', delay_ms: 60_000 });
    await queue.admin.rows('delete from taskq.dead_tasks where id = $1', await taskOf(id, 'x'));
    expect(await retry(id)).toEqual([
      { step: 'a', answer: 'key_held', extra: { key: 'k', holder } },
      { step: 'b', answer: 'retried', extra: null },
      { step: 'x', answer: 'gone', extra: null },
      { step: 'y', answer: 'retried', extra: null },
    ]);
    expect(await claimed(me)).toEqual([]);
    expect(await statuses(id)).toEqual({ a: 'dead', b: 'cancelled', x: 'dead', y: 'cancelled' });
    expect(await workflow(id)).toMatchObject({ state: 'failed' });
    await expectSettled(id);
  });
});

describe('housekeeping', () => {
  const maintain = () => queue.admin.value<{ failed: string[] }>('select taskq.maintain()');

  test('removes a workflow past the retention of its steps, unless a dead letter of it is left', async () => {
    const [kept, old, dead] = [
      await insertWorkflow(queue.admin, [{ step: 'a', task: { retention: '30d' } }]),
      await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b', after: ['a'] }]),
      await insertWorkflow(queue.admin, [{ step: 'a', task: { type: 'other' } }]),
    ];
    const me = await worker();
    await settleAll(me, await claimSteps(me));
    await settleAll(me, await claimSteps(me));
    await settleAll(me, await me.claim({ types: ['other'] }), 'dead');
    await claimed(me);
    expect(await maintain()).toMatchObject({ failed: [] });
    expect(await queue.admin.value('select count(*)::integer from taskq.workflows')).toBe(3);
    expect(
      await queue.admin.value(
        'select drop_on - current_date as days from taskq.workflows where id = $1',
        kept,
      ),
    ).toBe(30);
    await queue.admin.rows('update taskq.workflows set drop_on = drop_on - 15 where drop_on is not null');
    await maintain();
    expect(
      (await queue.admin.rows<{ id: string }>('select id from taskq.workflows order by id')).map(
        ({ id }) => id,
      ),
    ).toEqual([kept, dead]);
    expect(await queue.admin.rows('select from taskq.workflow_edges')).toEqual([]);
    await queue.admin.rows('delete from taskq.dead_tasks');
    await maintain();
    expect(await workflow(dead)).toBeUndefined();
    expect(await workflow(old)).toBeUndefined();
  });

  test('mends what was changed by hand: a task that is gone, and an ask that is gone', async () => {
    const id = await insertWorkflow(queue.admin, [
      { step: 'a' },
      { step: 'b', after: ['a:continue'] },
      { step: 'x' },
      { step: 'y', after: ['x'] },
    ]);
    const me = await worker();
    const [, x] = await claimSteps(me);
    await queue.admin.rows('delete from taskq.tasks where id = $1', await taskOf(id, 'a'));
    await settleAll(me, [x!]);
    await queue.admin.rows("update taskq.workflow_asks set steps = '{}'");
    expect(await claimed(me)).toEqual([]);
    expect(await maintain()).toMatchObject({ failed: [] });
    expect((await claimed(me)).sort()).toEqual(['b', 'y']);
    expect(await statuses(id)).toMatchObject({ a: 'cancelled', x: 'completed' });
    await expectSettled(id);
  });
});

describe('a revived step that died while it waited for its parents', () => {
  const revive = async (id: string, step: string) =>
    queue.admin.rows('select answer from taskq.revive($1)', [await taskOf(id, step)]);

  test('waits for them again', async () => {
    const id = await insertWorkflow(queue.admin, [
      { step: 'a' },
      { step: 'b' },
      { step: 'c', after: ['a', 'b'] },
    ]);
    const me = await worker();
    const [a, b] = await claimSteps(me);
    await queue.admin.rows("select taskq.add_dead($1, 'by mistake')", await taskOf(id, 'c'));
    await settleAll(me, [a!]);
    expect(await claimed(me)).toEqual([]);
    expect(await revive(id, 'c')).toEqual([{ answer: 'revived' }]);
    expect(await claimed(me)).toEqual([]);
    await expectSettled(id);
    await settleAll(me, [b!]);
    expect(await claimed(me)).toEqual(['c']);
    expect(await workflow(id)).toMatchObject({ state: 'running', deaths: 0 });
    await expectSettled(id);
  });

  test('ends as they say that have died meanwhile', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b', after: ['a'] }]);
    const me = await worker();
    const [a] = await claimSteps(me);
    await queue.admin.rows("select taskq.add_dead($1, 'by mistake')", await taskOf(id, 'b'));
    await settleAll(me, [a!], 'dead');
    expect(await claimed(me)).toEqual([]);
    expect(await revive(id, 'b')).toEqual([{ answer: 'revived' }]);
    expect(await claimed(me)).toEqual([]);
    expect(await statuses(id)).toEqual({ a: 'dead', b: 'cancelled' });
    await expectSettled(id);
  });
});

test('the copy of a step that asks to run again is no step of the workflow, which ends without it', async () => {
  const id = await insertWorkflow(queue.admin, [{ step: 'a' }]);
  const me = await worker();
  const [a] = await claimSteps(me);
  await me.settle({ ...outcome(a!, 'completed'), again: {} });
  expect(await claimed(me)).toEqual([null]);
  expect(await queue.admin.rows('select workflow_id, step from taskq.tasks')).toEqual([
    { workflow_id: null, step: null },
  ]);
  expect(await workflow(id)).toMatchObject({ state: 'completed' });
  await expectSettled(id);
});
