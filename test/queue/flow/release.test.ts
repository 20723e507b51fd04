import { expect, test } from 'vitest';
import { liveRow } from '../rows.ts';
import { claimOne, outcome } from '../worker.ts';
import { claimSteps, insertWorkflow, settleAll, useWorkflows } from './workflows.ts';

const { queue, worker, claimed, statuses, workflow, taskOf, expectSettled } = useWorkflows();

test('a step starts after its parents, each once, and the workflow completes', async () => {
  const id = await insertWorkflow(queue.admin, [
    { step: 'a' },
    { step: 'b', after: ['a'] },
    { step: 'c', after: ['a'] },
    { step: 'd', after: ['b', 'c'] },
  ]);
  const me = await worker();
  const first = await claimSteps(me);
  expect(first.map(({ step }) => step)).toEqual(['a']);
  expect(await claimed(me)).toEqual([]);
  await settleAll(me, first);
  const second = await claimSteps(me);
  expect(second.map(({ step }) => step)).toEqual(['b', 'c']);
  await settleAll(me, second.slice(0, 1));
  expect(await claimed(me)).toEqual([]);
  await settleAll(me, second.slice(1));
  const last = await claimSteps(me);
  expect(last.map(({ step }) => step)).toEqual(['d']);
  expect(await workflow(id)).toMatchObject({ state: 'running', ended_at: null });
  await settleAll(me, last);
  expect(await claimed(me)).toEqual([]);
  expect(await statuses(id)).toEqual({ a: 'completed', b: 'completed', c: 'completed', d: 'completed' });
  expect(await workflow(id)).toMatchObject({
    state: 'completed',
    live_steps: 0,
    waiting_steps: 0,
    ended_at: expect.any(Date),
    drop_on: expect.anything(),
  });
  await expectSettled(id);
});

test('a step keeps the result of its task, whatever its retention', async () => {
  const id = await insertWorkflow(queue.admin, [{ step: 'a', task: { retention: 'none' } }]);
  const me = await worker();
  const task = await claimOne(me);
  await me.settle(outcome(task, 'completed', { result: { rows: 7 }, ran_ms: 1000 }));
  expect(
    await queue.admin.row(
      'select status, result, ended_at - started_at as ran, drop_on > now() as is_kept from taskq.workflow_steps',
    ),
  ).toMatchObject({ status: 'completed', result: { rows: 7 }, is_kept: true });
  await claimed(me);
  expect(await workflow(id)).toMatchObject({ state: 'completed' });
});

test('a death cancels what waits for it, and goes on or waits where an edge says so', async () => {
  const id = await insertWorkflow(queue.admin, [
    { step: 'a' },
    { step: 'b', after: ['a'] },
    { step: 'c', after: ['b'] },
    { step: 'd', after: ['c:continue'] },
    { step: 'e', after: ['a:wait'] },
  ]);
  const me = await worker();
  await settleAll(me, await claimSteps(me), 'dead');
  const next = await claimSteps(me);
  expect(next.map(({ step }) => step)).toEqual(['d']);
  expect(await statuses(id)).toEqual({
    a: 'dead',
    b: 'cancelled',
    c: 'cancelled',
    d: 'released',
    e: 'waiting',
  });
  expect(
    await queue.admin.rows(
      'select step, cancelled_by from taskq.workflow_steps where cancelled_by is not null order by 1',
    ),
  ).toEqual([
    { step: 'b', cancelled_by: 'a' },
    { step: 'c', cancelled_by: 'b' },
  ]);
  expect(await workflow(id)).toMatchObject({ deaths: 1, state: 'running' });
  await settleAll(me, next);
  expect(await claimed(me)).toEqual([]);
  expect(await workflow(id)).toMatchObject({ deaths: 1, state: 'stuck' });
  expect(await queue.admin.value('select answer from taskq.revive($1)', [await taskOf(id, 'a')])).toBe(
    'revived',
  );
  const again = await claimSteps(me);
  expect(again.map(({ step }) => step)).toEqual(['a']);
  expect(await workflow(id)).toMatchObject({ deaths: 0, state: 'running' });
  await settleAll(me, again);
  const last = await claimSteps(me);
  expect(last.map(({ step }) => step)).toEqual(['e']);
  await settleAll(me, last);
  await claimed(me);
  expect(await workflow(id)).toMatchObject({ state: 'completed' });
  await expectSettled(id);
});

test.each([
  ['its handler runs it again', null],
  ['a producer replaces it', { key: 'k', on_held: 'replace', allow_unknown: true }],
])('what runs after a step is no step of its workflow: %s', async (_, options) => {
  const id = await insertWorkflow(queue.admin, [
    { step: 'a', task: { unique_key: 'k' } },
    { step: 'b', after: ['a'] },
  ]);
  const me = await worker();
  const task = await claimOne(me);
  if (options === null) await me.settle(outcome(task, 'completed', { again: { payload: { page: 2 } } }));
  else {
    await queue.admin.rows(`select taskq.enqueue('work', '{"page": 2}', $1)`, options);
    await settleAll(me, [task]);
  }
  const next = await me.claim({ start: 10 });
  expect(
    await queue.admin.rows(
      'select workflow_id, step, gate, payload from taskq.tasks order by step nulls first',
    ),
  ).toEqual([
    { workflow_id: null, step: null, gate: null, payload: { page: 2 } },
    { workflow_id: id, step: 'b', gate: null, payload: {} },
  ]);
  expect(await workflow(id)).toMatchObject({ live_steps: 1 });
  await settleAll(me, next);
  await claimed(me);
  expect(await workflow(id)).toMatchObject({ state: 'completed' });
  await expectSettled(id);
});

test('a task that follows the ends of steps, and runs again, keeps its workflow', async () => {
  const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b' }], { on_step: { type: 'plan' } });
  const me = await worker();
  const [a] = await claimSteps(me);
  await settleAll(me, [a!]);
  await claimed(me);
  const plan = await claimOne(me, { types: ['plan'] });
  await me.settle(outcome(plan, 'completed', { again: {} }));
  await claimed(me);
  expect(await queue.admin.rows("select workflow_id, step from taskq.tasks where type = 'plan'")).toEqual([
    { workflow_id: id, step: null },
  ]);
});

test('a released step waits for its own time, and for a slot of its group', async () => {
  await queue.admin.rows(`select taskq.set_queue('default', '{"group_limit": 1}')`);
  const id = await insertWorkflow(queue.admin, [
    { step: 'a' },
    { step: 'b', after: ['a'], task: { not_before: new Date(Date.now() + 3_600_000) } },
    { step: 'c', after: ['a'], task: { group_key: 'ann' } },
    { step: 'd', after: ['a'], task: { group_key: 'ann' } },
  ]);
  const me = await worker();
  await settleAll(me, await claimSteps(me));
  const grouped = await claimSteps(me);
  expect(grouped.map(({ step }) => step)).toEqual(['c']);
  expect(await liveRow(queue.admin, await taskOf(id, 'b'))).toMatchObject({ gate: null, status: 'pending' });
  await settleAll(me, grouped);
  expect(await claimed(me)).toEqual(['d']);
});
