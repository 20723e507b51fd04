import { describe, expect, test } from 'vitest';
import { refuseChanges } from '../rows.ts';
import type { Session } from '../session.ts';
import { waitUntilBlocked } from '../waiting.ts';
import { outcome, type PlainWorker } from '../worker.ts';
import { addStep, claimSteps, insertWorkflow, settleAll, useWorkflows } from './workflows.ts';

const { queue, worker, claimed, statuses, workflow, taskOf, expectSettled } = useWorkflows();

/** As if this much time had passed for what workflows ask for. */
const passTime = () =>
  queue.admin.rows(
    "update taskq.workflow_asks set due_at = due_at - interval '10 s' where due_at > clock_timestamp()",
  );

/** Opens a session in a transaction. */
async function transaction(): Promise<Session> {
  const session = await queue.session();
  await session.rows('begin');
  return session;
}

describe('two parents of a step that end in two sessions at once', () => {
  const diamond = [{ step: 'a' }, { step: 'b' }, { step: 'c', after: ['a', 'b'] }];

  for (const claimsBetween of [true, false])
    test(`count once each, ${claimsBetween ? 'with' : 'without'} a claim between the commits`, async () => {
      const id = await insertWorkflow(queue.admin, diamond);
      const [me, other] = [await worker(), await worker()];
      const [a, b] = await claimSteps(me);
      await me.session.rows('begin');
      await settleAll(me, [a!]);
      const second = await queue.session();
      await second.rows('begin');
      await second.rows(
        'select * from taskq.settle($1, $2)',
        me.id,
        JSON.stringify([outcome(b!, 'completed')]),
      );
      expect(await claimed(other)).toEqual([]);
      await me.session.rows('commit');
      if (claimsBetween) expect(await claimed(other)).toEqual([]);
      await second.rows('commit');
      expect(await claimed(other)).toEqual(['c']);
      expect(await claimed(me)).toEqual([]);
      await expectSettled(id);
    });
});

test('a step is not released by an end that is rolled back', async () => {
  const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b', after: ['a'] }]);
  const me = await worker();
  const other = await worker();
  const tasks = await claimSteps(me);
  await me.session.rows('begin');
  await settleAll(me, tasks);
  await me.session.rows('rollback');
  expect(await claimed(other)).toEqual([]);
  await settleAll(me, tasks);
  expect(await claimed(other)).toEqual(['b']);
  await expectSettled(id);
});

test('of two claims at once one attends, and the other waits for nothing and leaves the rest to it', async () => {
  const id = await insertWorkflow(queue.admin, [
    { step: 'a' },
    { step: 'b' },
    { step: 'c', after: ['a'] },
    { step: 'd', after: ['b'] },
  ]);
  const [me, other] = [await worker(), await worker()];
  const [a, b] = await claimSteps(me);
  await settleAll(me, [a!]);
  await me.session.rows('begin');
  expect(await claimed(me)).toEqual(['c']);
  // This ask is not for the claim that is open.
  const third = await worker();
  await third.session.rows(
    'select * from taskq.settle($1, $2)',
    me.id,
    JSON.stringify([outcome(b!, 'completed')]),
  );
  const looked = await other.session.value<{ asked_to_us: number }>(
    `select extra from taskq.claim($1, '{default}', '{work}', 5, 0, 30000, null, null, '{"looked": true}')`,
    other.id,
  );
  const [ask] = await queue.admin.rows<{ us: string }>(
    'select taskq.epoch_us(due_at) as us from taskq.workflow_asks',
  );
  expect(looked.asked_to_us).toBeLessThan(Number(ask!.us));
  await me.session.rows('commit');
  expect(await claimed(other)).toEqual(['d']);
  expect(await claimed(other)).toEqual([]);
  await expectSettled(id);
});

test('a claim that is rolled back has released nothing, and the next one does', async () => {
  const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b', after: ['a'] }]);
  const me = await worker();
  await settleAll(me, await claimSteps(me));
  await me.session.rows('begin');
  expect(await claimed(me)).toEqual(['b']);
  await me.session.rows('rollback');
  expect(await statuses(id)).toEqual({ a: 'completed', b: 'waiting' });
  expect(await claimed(me)).toEqual(['b']);
  await expectSettled(id);
});

describe('an application that has locked', () => {
  const fan = [{ step: 'a' }, { step: 'b', after: ['a'] }, { step: 'c', after: ['a'] }];

  test('a waiting task delays that one alone', async () => {
    const id = await insertWorkflow(queue.admin, fan);
    const me = await worker();
    const application = await transaction();
    await application.rows(
      'update taskq.tasks set payload = $2 where id = $1',
      await taskOf(id, 'b'),
      '{"n": 1}',
    );
    await settleAll(me, await claimSteps(me));
    const first = await claimSteps(me);
    expect(first.map(({ step }) => step)).toEqual(['c']);
    await passTime();
    expect(await claimed(me)).toEqual([]);
    expect(await workflow(id)).toMatchObject({ state: 'running', waiting_steps: 1 });
    await application.rows('commit');
    await passTime();
    const [b] = await claimSteps(me);
    expect(b).toMatchObject({ step: 'b', payload: { n: 1 } });
    await expectSettled(id);
  });

  test('the row of a step delays that one alone, and its parent is counted once', async () => {
    const id = await insertWorkflow(queue.admin, fan);
    const me = await worker();
    const application = await transaction();
    await application.rows("select from taskq.workflow_steps where step = 'b' for update");
    await settleAll(me, await claimSteps(me));
    expect(await claimed(me)).toEqual(['c']);
    await passTime();
    expect(await claimed(me)).toEqual([]);
    await application.rows('commit');
    await passTime();
    expect(await claimed(me)).toEqual(['b']);
    await expectSettled(id);
  });

  test('what joins a step to its parent delays that one alone, and no claim waits', async () => {
    const id = await insertWorkflow(queue.admin, fan);
    const next = await insertWorkflow(queue.admin, [...fan, { step: 'd', after: ['b', 'c'] }]);
    const me = await worker();
    const application = await transaction();
    await application.rows(
      "select from taskq.workflow_edges where workflow_id = $1 and child = 'b' for update",
      id,
    );
    await settleAll(me, await claimSteps(me));
    await queue.admin.rows(
      "alter function taskq.attend_workflows(timestamptz, timestamptz) set lock_timeout = '1ms'",
    );
    expect((await claimed(me)).sort()).toEqual(['b', 'c', 'c']);
    await passTime();
    expect(await claimed(me)).toEqual([]);
    expect(await statuses(id)).toEqual({ a: 'completed', b: 'waiting', c: 'released' });
    expect(await workflow(id)).toMatchObject({ state: 'running', waiting_steps: 1 });
    expect(await statuses(next)).toMatchObject({ b: 'released', c: 'released', d: 'waiting' });
    await application.rows('commit');
    await passTime();
    expect(await claimed(me)).toEqual(['b']);
    await expectSettled(id);
  });

  test('a workflow delays its steps, and no other workflow', async () => {
    const id = await insertWorkflow(queue.admin, fan);
    const next = await insertWorkflow(queue.admin, fan);
    const me = await worker();
    const application = await transaction();
    await application.rows('select from taskq.workflows where id = $1 for update', id);
    await settleAll(me, await claimSteps(me));
    expect(await claimed(me)).toEqual(['b', 'c']);
    expect(await statuses(next)).toEqual({ a: 'completed', b: 'released', c: 'released' });
    await application.rows('commit');
    expect(await claimed(me)).toEqual(['b', 'c']);
    await expectSettled(id);
  });

  test('a workflow with thousands of asks hides no other workflow behind them', async () => {
    const id = await insertWorkflow(queue.admin, fan);
    const next = await insertWorkflow(queue.admin, fan);
    await queue.admin.rows(
      `insert into taskq.workflow_asks (due_at, workflow_id)
       select clock_timestamp() - interval '1 s', $1 from generate_series(1, 2500)`,
      id,
    );
    const me = await worker();
    const application = await transaction();
    await application.rows('select from taskq.workflows where id = $1 for update', id);
    await settleAll(me, await claimSteps(me));
    expect(await claimed(me)).toEqual(['b', 'c']);
    expect(await statuses(next)).toEqual({ a: 'completed', b: 'released', c: 'released' });
  });

  test('a step that it is just cancelling waits for its commit, and what is below it for that', async () => {
    const id = await insertWorkflow(queue.admin, [...fan, { step: 'd', after: ['b:continue'] }]);
    const me = await worker();
    const application = await transaction();
    await application.rows('select * from taskq.cancel(array[$1::bigint])', await taskOf(id, 'b'));
    await settleAll(me, await claimSteps(me));
    const first = await claimSteps(me);
    expect(first.map(({ step }) => step)).toEqual(['c']);
    await application.rows('commit');
    expect(await claimed(me)).toEqual(['d']);
    await passTime();
    expect(await claimed(me)).toEqual([]);
    expect(await statuses(id)).toEqual({ a: 'completed', b: 'cancelled', c: 'released', d: 'released' });
    await expectSettled(id);
  });

  test('a step that it does not cancel in the end runs', async () => {
    const id = await insertWorkflow(queue.admin, fan);
    const me = await worker();
    const application = await transaction();
    await application.rows('select * from taskq.cancel(array[$1::bigint])', await taskOf(id, 'b'));
    await settleAll(me, await claimSteps(me));
    expect(await claimed(me)).toEqual(['c']);
    await application.rows('rollback');
    await passTime();
    expect(await claimed(me)).toEqual(['b']);
    await expectSettled(id);
  });

  test('a step below a death delays its cancel alone', async () => {
    const id = await insertWorkflow(queue.admin, [...fan, { step: 'd', after: ['b'] }]);
    const me = await worker();
    const application = await transaction();
    await application.rows('select from taskq.tasks where id = $1 for update', await taskOf(id, 'b'));
    await settleAll(me, await claimSteps(me), 'dead');
    expect(await claimed(me)).toEqual([]);
    expect(await statuses(id)).toEqual({ a: 'dead', b: 'waiting', c: 'cancelled', d: 'cancelled' });
    await application.rows('commit');
    await passTime();
    expect(await claimed(me)).toEqual([]);
    expect(await statuses(id)).toEqual({ a: 'dead', b: 'cancelled', c: 'cancelled', d: 'cancelled' });
    expect(await workflow(id)).toMatchObject({ state: 'failed', deaths: 1 });
    await expectSettled(id);
  });
});

describe('a step that is added while its parent ends', () => {
  const adds = (session: Session, id: string) => addStep(session, id, { step: 'b', after: ['a'] });

  for (const [name, order] of [
    ['the end is committed first', ['end', 'add']],
    ['the addition is committed first', ['add', 'end']],
  ] as const)
    for (const claimsBetween of [true, false])
      test(`runs once: ${name}, ${claimsBetween ? 'with' : 'without'} a claim between`, async () => {
        const id = await insertWorkflow(queue.admin, [{ step: 'a' }], { is_open: true });
        const [me, other] = [await worker(), await worker()];
        const tasks = await claimSteps(me);
        const application = await transaction();
        await me.session.rows('begin');
        await adds(application, id);
        await settleAll(me, tasks);
        const commit = { add: application, end: me.session };
        expect(await claimed(other)).toEqual([]);
        await commit[order[0]].rows('commit');
        if (claimsBetween) expect(await claimed(other)).toEqual([]);
        await commit[order[1]].rows('commit');
        const started = [...(await claimed(other)), ...(await claimed(other))];
        expect(started).toEqual(['b']);
        await expectSettled(id);
      });

  test('is never released by an addition that is rolled back', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }], { is_open: true });
    const me = await worker();
    const application = await transaction();
    await adds(application, id);
    await settleAll(me, await claimSteps(me));
    expect(await claimed(me)).toEqual([]);
    await application.rows('rollback');
    expect(await claimed(me)).toEqual([]);
    expect(await workflow(id)).toMatchObject({ state: 'open', live_steps: 0 });
    await expectSettled(id);
  });
});

describe('a retry of a workflow while one of its steps that waits', () => {
  const steps = [{ step: 'a' }, { step: 'b', after: ['a:wait'] }, { step: 'c', after: ['a:wait'] }];

  test.each(['commit', 'rollback'])('is being cancelled goes by what becomes of that: %s', async (end) => {
    const id = await insertWorkflow(queue.admin, steps);
    const me = await worker();
    await settleAll(me, await claimSteps(me), 'cancelled');
    expect(await claimed(me)).toEqual([]);
    const application = await transaction();
    await application.rows('select * from taskq.cancel(array[$1::bigint])', await taskOf(id, 'b'));
    const operator = await queue.session();
    const retried = operator.rows<{ step: string; answer: string }>(
      'select step, answer from taskq.retry_workflow($1)',
      id,
    );
    await waitUntilBlocked(queue.admin);
    await application.rows(end);
    const back = end === 'commit' ? ['a', 'b'] : ['a'];
    expect(await retried).toEqual(back.map((step) => ({ step, answer: 'retried' })));
    expect(await statuses(id)).toEqual({ a: 'released', b: 'waiting', c: 'waiting' });
    await settleAll(me, await claimSteps(me));
    await settleAll(me, await claimSteps(me));
    expect(await claimed(me)).toEqual([]);
    expect(await workflow(id)).toMatchObject({ state: 'completed' });
    await expectSettled(id);
  });
});

describe('the database refuses', () => {
  test.each(['create trigger', 'create constraint trigger'] as const)(
    'to release one step (%s), which delays no other one',
    async (create) => {
      const id = await insertWorkflow(queue.admin, [
        { step: 'a' },
        { step: 'b', after: ['a'] },
        { step: 'c', after: ['a'] },
      ]);
      const next = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'd', after: ['a'] }]);
      const me = await worker();
      const tasks = await claimSteps(me);
      await refuseChanges(queue.admin, create, `old.id = ${await taskOf(id, 'b')} and old.gate = 'p'`);
      await settleAll(me, tasks);
      expect((await claimed(me)).sort()).toEqual(['c', 'd']);
      expect(await statuses(id)).toEqual({ a: 'completed', b: 'waiting', c: 'released' });
      expect(await claimed(me)).toEqual([]);
      await queue.admin.rows('drop trigger refuse on taskq.tasks');
      await passTime();
      expect(await claimed(me)).toEqual(['b']);
      expect(await statuses(next)).toEqual({ a: 'completed', d: 'released' });
      await expectSettled(id);
    },
  );

  test('to cancel one step below a death, which keeps no other one', async () => {
    const id = await insertWorkflow(queue.admin, [
      { step: 'a' },
      { step: 'b', after: ['a'] },
      { step: 'c', after: ['a'] },
    ]);
    const me = await worker();
    const tasks = await claimSteps(me);
    await refuseChanges(
      queue.admin,
      'create trigger',
      `old.id = ${await taskOf(id, 'b')} and old.gate = 'p'`,
    );
    await settleAll(me, tasks, 'dead');
    expect(await claimed(me)).toEqual([]);
    expect(await statuses(id)).toEqual({ a: 'dead', b: 'waiting', c: 'cancelled' });
    expect(await workflow(id)).toMatchObject({ state: 'running' });
  });
});

describe('rows that were deleted by hand:', () => {
  const chain = [{ step: 'a' }, { step: 'b', after: ['a'] }, { step: 'c', after: ['b:continue'] }];

  test('a step whose task is gone ends as cancelled, and what is below it goes on', async () => {
    const id = await insertWorkflow(queue.admin, chain);
    const me = await worker();
    await queue.admin.rows('delete from taskq.tasks where id = $1', await taskOf(id, 'b'));
    await settleAll(me, await claimSteps(me));
    expect(await claimed(me)).toEqual(['c']);
    expect(await statuses(id)).toEqual({ a: 'completed', b: 'cancelled', c: 'released' });
    await expectSettled(id);
  });

  test('a step whose task is gone is cancelled with its parent, as one that has its task', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b', after: ['a'] }]);
    const me = await worker();
    await queue.admin.rows('delete from taskq.tasks where id = $1', await taskOf(id, 'b'));
    await settleAll(me, await claimSteps(me), 'dead');
    expect(await claimed(me)).toEqual([]);
    expect(
      await queue.admin.row("select status, cancelled_by from taskq.workflow_steps where step = 'b'"),
    ).toEqual({ status: 'cancelled', cancelled_by: 'a' });
    expect(await workflow(id)).toMatchObject({ state: 'failed', deaths: 1 });
    await expectSettled(id);
  });

  test('the ends of steps of a workflow that is gone are recorded, and their asks forgotten', async () => {
    await insertWorkflow(queue.admin, chain);
    const me = await worker();
    const tasks = await claimSteps(me);
    await settleAll(me, tasks);
    await queue.admin.rows('delete from taskq.workflows');
    expect(await claimed(me)).toEqual([]);
    expect(await queue.admin.rows('select from taskq.workflow_asks')).toEqual([]);
  });
});

test('a claim with cursors sees what is asked for by any queue', async () => {
  const id = await insertWorkflow(queue.admin, [
    { step: 'a' },
    { step: 'b', after: ['a'], task: { queue: 'other' } },
  ]);
  const me = await worker();
  await settleAll(me, await claimSteps(me));
  const now = Date.now() * 1000;
  const cursor = Array.from({ length: 22 }, (_, nth) => (nth % 2 === 0 ? now - 1_000_000 : 0));
  const other: PlainWorker = await worker();
  expect(await other.claim({ queues: ['other'], cursor, lookBackMs: 2000 })).toHaveLength(1);
  expect(await statuses(id)).toEqual({ a: 'completed', b: 'released' });
});

test('a step that is being purged does not come back with a retry of its workflow', async () => {
  const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b' }]);
  const a = await taskOf(id, 'a');
  await queue.admin.rows('select * from taskq.cancel($1)', [a]);
  const [purging, retrying] = [await transaction(), await queue.session()];
  expect(await purging.rows('select answer from taskq.purge($1)', [a])).toEqual([{ answer: 'purged' }]);
  const retried = retrying.rows('select step, answer from taskq.retry_workflow($1)', id);
  await waitUntilBlocked(queue.admin);
  await purging.rows('commit');
  expect(await retried).toEqual([{ step: 'a', answer: 'gone' }]);
  expect(await queue.admin.rows('select id from taskq.all_tasks where id = $1', a)).toEqual([]);
});
