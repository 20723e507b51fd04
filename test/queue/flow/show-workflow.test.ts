import { describe, expect, test } from 'vitest';
import { listWorkflows } from '../../../src/queue/inspect/list-workflows.ts';
import { showWorkflow } from '../../../src/queue/inspect/show-workflow.ts';
import { useDatabase } from '../session.ts';
import { claimOne, registerWorker } from '../worker.ts';
import { type GivenStep, insertWorkflow } from './steps.ts';

const queue = useDatabase();

const show = async (steps: readonly GivenStep[], workflow = {}) =>
  (await showWorkflow(queue.admin, (await insertWorkflow(queue.admin, steps, workflow)).id))!;

describe('show_workflow', () => {
  test('a workflow without steps is shown', async () => {
    expect(await show([], { is_open: true, state: 'open', max_dead: 3, on_end: { type: 'report' } })).toEqual(
      {
        id: expect.stringMatching(/^\d+$/),
        ...{ name: 'import', state: 'open', is_open: true, steps: [] },
        ...{ live_steps: 0, waiting_steps: 0, deaths: 0, fail_fast: false, max_dead: 3 },
        ...{ on_end: { type: 'report' }, on_failing: null, on_step: null },
        ...{ created_at: expect.any(String), created_by: expect.any(String) },
        ...{
          failing_at: null,
          ended_at: null,
          cancel_requested_at: null,
          cancel_reason: null,
          drop_on: null,
        },
      },
    );
  });

  test('a step has the figures of its task, and names its parents in the order of their tasks', async () => {
    const steps = [
      { step: 'z', status: 'completed' },
      { step: 'a', task: { attempts: 2, started_at: '2026-01-01T00:00:00Z' } },
      { step: 'end', after: ['a', 'z'], met: ['z'], on_death: 'wait' },
    ];
    const { steps: shown } = await show(steps);
    const all = { queue: 'default', type: 'work', reason: null, cancelled_by: null };
    const task_id = expect.stringMatching(/^\d+$/);
    const at = expect.any(String);
    expect(shown).toEqual([
      {
        ...{ ...all, step: 'z', task_id, status: 'completed', waits: false, attempts: 0, parents: [] },
        ...{ started_at: null, ended_at: at, due_at: null },
      },
      {
        ...{ ...all, step: 'a', task_id, status: 'pending', waits: false, attempts: 2, parents: [] },
        ...{ started_at: '2026-01-01T00:00:00+00:00', ended_at: null, due_at: at },
      },
      {
        ...{ ...all, step: 'end', task_id, status: 'blocked', waits: true, attempts: 0 },
        ...{ started_at: null, ended_at: null, due_at: null },
        parents: [
          { step: 'z', on_death: 'wait', is_met: true },
          { step: 'a', on_death: 'wait', is_met: false },
        ],
      },
    ]);
  });

  test('a death says its reason, and a step that it cancelled says whose it was', async () => {
    const { steps } = await show([
      { step: 'a', status: 'dead' },
      { step: 'b', after: ['a'], status: 'cancelled', cancelled_by: 'a' },
    ]);
    expect(steps).toMatchObject([
      { step: 'a', status: 'dead', reason: 'hopeless', cancelled_by: null },
      { step: 'b', status: 'cancelled', reason: null, cancelled_by: 'a' },
    ]);
  });

  test('a dead step that was revived lives, and one whose task was deleted is gone', async () => {
    const { id, tasks } = await insertWorkflow(queue.admin, [
      { step: 'a', status: 'dead' },
      { step: 'b' },
      { step: 'c', after: ['a'] },
    ]);
    await queue.admin.rows('select taskq.revive(array[$1::bigint])', tasks.a);
    await queue.admin.rows('delete from taskq.tasks where id in ($1, $2)', tasks.b, tasks.c);
    const { steps } = (await showWorkflow(queue.admin, id))!;
    expect(steps).toMatchObject([
      { status: 'pending', ended_at: null, reason: null, waits: false },
      { status: 'gone', waits: false },
      { status: 'gone', waits: false },
    ]);
  });

  test('a running step has started', async () => {
    const worker = await registerWorker(queue.admin);
    const { id } = await insertWorkflow(queue.admin, [{ step: 'a' }]);
    await claimOne(worker);
    expect((await showWorkflow(queue.admin, id))!.steps).toMatchObject([
      { status: 'running', started_at: expect.any(String), due_at: null },
    ]);
  });

  test('a step that was cancelled by hand says why', async () => {
    const { id, tasks } = await insertWorkflow(queue.admin, [{ step: 'a' }]);
    await queue.admin.rows("select taskq.cancel(array[$1::bigint], 'not needed')", tasks.a);
    await queue.admin.rows("update taskq.workflow_steps set status = 'cancelled' where workflow_id = $1", id);
    expect((await showWorkflow(queue.admin, id))!.steps).toMatchObject([
      { status: 'cancelled', reason: 'not needed' },
    ]);
  });

  test('there is no such workflow', async () => {
    expect(await showWorkflow(queue.admin, '999999999')).toBeUndefined();
  });

  test('10,000 steps below one are shown', async () => {
    const { id } = await insertWorkflow(queue.admin, [{ step: 'a', status: 'completed' }]);
    await queue.admin.rows(
      `insert into taskq.workflow_steps (workflow_id, task_id, step, queue, type)
       select $1, 1000000 + n, 's' || n, 'default', 'work' from generate_series(1, 10000) as n`,
      id,
    );
    await queue.admin.rows(
      `insert into taskq.workflow_edges (workflow_id, parent, child)
       select $1, 'a', 's' || n from generate_series(1, 10000) as n`,
      id,
    );
    expect((await showWorkflow(queue.admin, id))!.steps).toHaveLength(10_001);
  });
});

describe('list_workflows', () => {
  const add = async (state: string) => (await insertWorkflow(queue.admin, [], { state })).id;
  const listed = async (options: Parameters<typeof listWorkflows>[1]) =>
    (await listWorkflows(queue.admin, options)).map(({ id }) => id);

  test('newest first, by pages and by state', async () => {
    const ids = [await add('running'), await add('failed'), await add('running')];
    expect(await listed({})).toEqual(ids.toReversed());
    expect(await listed({ state: 'running' })).toEqual([ids[2], ids[0]]);
    expect(await listed({ limit: 2 })).toEqual([ids[2], ids[1]]);
    expect(await listed({ after: ids[1]! })).toEqual([ids[0]]);
    expect(await listed({ state: 'running', after: ids[2]! })).toEqual([ids[0]]);
    expect(await listed({ state: 'stuck' })).toEqual([]);
  });

  test.each([
    [
      '{"state": "runing"}',
      'state "runing": expected one of open, running, stuck, completed, failed, cancelled',
    ],
    ['{"name": "import"}', 'list_workflows: unknown option "name"'],
  ])('%s is refused', async (options, message) => {
    await expect(
      queue.admin.rows('select from taskq.list_workflows(options => $1)', options),
    ).rejects.toMatchObject({ code: '22023', message });
  });
});
