import { beforeAll, beforeEach, expect, test } from 'vitest';
import { showWorkflow } from '../../../src/queue/inspect/show-workflow.ts';
import { ageLeases, useSpecification } from '../use-specification.ts';

const s3 = useSpecification(import.meta.url);

beforeAll(() => s3.admin.rows('create table app.kills (point text)'));
beforeEach(() => s3.admin.rows('delete from app.kills'));

/** Opens a workflow that the orchestrator drives, and works until it has ended. Returns how often a worker died. */
async function drive(): Promise<{ readonly id: string; readonly deaths: number }> {
  const { stdout } = await s3.taskq(['workflow', 'open', 'order', '--on-step', 'orchestrate']);
  const id = stdout.trim();
  for (let deaths = 0; ; deaths += 1) {
    const worker = s3.work(['--until-idle'], { TASKQ_LEASE: '2s' });
    const { signal } = await worker.exit;
    if (signal === null) return { id, deaths };
    await ageLeases(s3.admin, worker);
  }
}

const showOf = async (id: string) => (await showWorkflow(s3.admin, id))!;

test.each(['begun', 'read', 'added', 'returned', 'before close', 'closed'])(
  'an orchestrator killed at %s goes on, and each agent runs once',
  async (point) => {
    await s3.admin.rows('insert into app.kills values ($1)', point);
    const { id, deaths } = await drive();
    expect(deaths).toBe(1);
    const { state, is_open, steps } = await showOf(id);
    expect({ state, is_open }).toEqual({ state: 'completed', is_open: false });
    expect(steps.map(({ step, queue, status }) => [step, queue, status])).toEqual([
      ['validate', 'OrderAgent', 'completed'],
      ['fitment', 'FitmentAgent', 'completed'],
      ['price', 'PricingAgent', 'completed'],
    ]);
    const done = await s3.admin.rows<{ task_id: string }>(
      "select w.task_id::text from app.witness w where w.event = 'done' order by w.task_id",
    );
    expect(done.map(({ task_id }) => task_id)).toEqual(steps.map(({ task_id }) => task_id));
  },
);

test('a step that dies is escalated, and its threshold is its own', async () => {
  await s3.admin.rows("insert into app.outages values ('generate_fitment')");
  const { id } = await drive();
  const { state, steps } = await showOf(id);
  expect(state).toBe('completed');
  expect(steps.map(({ step, queue, status }) => [step, queue, status])).toEqual([
    ['validate', 'OrderAgent', 'completed'],
    ['fitment', 'FitmentAgent', 'dead'],
    ['escalate', 'SupportAgent', 'completed'],
  ]);
  expect((await s3.task(steps[2]!.task_id)).result).toEqual({
    ...{ agent: 'SupportAgent', step: 'escalate', parents: ['fitment'] },
  });
});

/** The interface of the specification. */
const createTask = (task: {
  readonly workflow_id: string;
  readonly agent_name: string;
  readonly task_type: string;
  readonly payload: object;
  readonly priority: number;
  readonly max_attempts: number;
}) =>
  s3.enqueue(task.task_type, task.payload, {
    workflow: task.workflow_id,
    queue: task.agent_name,
    priority: task.priority,
    maxAttempts: task.max_attempts,
  });

test('createTask adds a task to a workflow; agent_name is the queue', async () => {
  const workflow_id = (await s3.taskq(['workflow', 'open', 'order'])).stdout.trim();
  const { id } = await createTask({
    ...{ workflow_id, agent_name: 'FitmentAgent', task_type: 'generate_fitment', payload: { part: 'pad' } },
    ...{ priority: 0, max_attempts: 3 },
  });
  expect(await s3.task(id)).toMatchObject({
    ...{ workflow_id, queue: 'FitmentAgent', type: 'generate_fitment', payload: { part: 'pad' } },
    ...{ priority: 0, max_attempts: 3, status: 'pending' },
  });
  await s3.taskq(['workflow', 'close', workflow_id]);
  await s3.taskq(['work', '--queues', 'FitmentAgent', '--until-idle']);
  expect(await s3.taskq(['workflow', 'wait', workflow_id, '--timeout', '10s'])).toMatchObject({
    ...{ code: 0, stdout: 'completed\n' },
  });
});
