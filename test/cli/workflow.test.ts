import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type GivenStep, insertWorkflow } from '../queue/flow/steps.ts';
import { sessionOf } from '../queue/session.ts';
import { createProject, type Project } from './project.ts';

let project: Project;

beforeAll(async () => {
  project = await createProject();
});
beforeEach(() => project.client.query('truncate taskq.tasks, taskq.dead_tasks, taskq.workflows cascade'));
afterAll(() => project.drop());

const run = (...args: string[]) => project.run(['workflow', ...args]);
const insert = (steps: readonly GivenStep[], workflow = {}) =>
  insertWorkflow(sessionOf(project.client), steps, workflow);

/** What it prints, by lines and cells, where it succeeds. */
async function printed(...args: string[]): Promise<string[][]> {
  const { code, stdout, stderr } = await run(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/));
}

describe('taskq workflow list', () => {
  test('lists workflows, newest first, by pages and by state', async () => {
    const steps = { live_steps: 1200, waiting_steps: 3, deaths: 1 };
    const { id: first } = await insert([], { ...steps, created_at: '2026-01-01T00:00:00Z' });
    const { id: second } = await insert([], { name: 'export', state: 'stuck' });
    expect((await printed('list'))[0]).toEqual([
      'ID',
      'NAME',
      'STATE',
      'LIVE',
      'WAITING',
      'DEATHS',
      'CREATED',
      'ENDED',
    ]);
    expect((await printed()).slice(1).map((cells) => cells.slice(0, 6))).toEqual([
      [second, 'export', 'stuck', '0', '0', '0'],
      [first, 'import', 'running', '1,200', '3', '1'],
    ]);
    expect((await printed('list', '--state', 'stuck')).slice(1).map(([id]) => id)).toEqual([second]);
    const page = await run('list', '--limit', '1');
    expect(page.stderr).toBe(`there may be more: --after ${second}\n`);
    expect((await run('list', '--limit', '1', '--after', second, '--json')).stdout).toContain(
      `"id":"${first}"`,
    );
  });

  test('says that there is none', async () => {
    expect((await run('list')).stderr).toBe('there is no workflow\n');
    expect((await run('list', '--state', 'stuck')).stderr).toBe('no workflow is stuck\n');
  });

  test('refuses a state that is none', async () => {
    const { code, stderr } = await run('list', '--state', 'stuk');
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        'taskq: --state "stuk": expected one of open, running, stuck, completed, failed, cancelled (did you mean "stuck"?)\n',
    });
  });
});

describe('taskq workflow wait', () => {
  const ends = (id: string, state: string) =>
    project.client.query(
      `with ended as (
         update taskq.workflows set state = $2, ended_at = clock_timestamp() where id = $1 returning id
       )
       select pg_notify('taskq_workflow_done', id::text) from ended`,
      [id, state],
    );

  test('prints how the workflow has ended, and exits with 0 if it has completed', async () => {
    const { id } = await insert([{ step: 'a', status: 'completed' }]);
    const waits = run('wait', id);
    await project.client.query('select pg_sleep(0.5)');
    await ends(id, 'completed');
    expect(await waits).toMatchObject({ code: 0, stdout: 'completed\n', stderr: '' });
    expect(JSON.parse((await run('wait', id, '--json')).stdout)).toEqual({
      ...{ id, name: 'import', state: 'completed', steps: { completed: 1 } },
    });
  });

  test.each([
    ['failed', 'has failed'],
    ['cancelled', 'was cancelled'],
  ])('exits with 1 if it has %s', async (state, words) => {
    const { id } = await insert([
      { step: 'a', status: 'completed' },
      { step: 'b', status: 'dead' },
    ]);
    await ends(id, state);
    expect(await run('wait', id)).toMatchObject({
      code: 1,
      stdout: `${state}\n`,
      stderr: `taskq: workflow ${id} ${words} (2 steps: 1 completed, 1 dead) — see taskq workflow show ${id}\n`,
    });
  });

  test('exits with 4 if it has not ended in time', async () => {
    const { id } = await insert([{ step: 'a' }]);
    expect(await run('wait', id, '--timeout', '100ms')).toMatchObject({
      code: 4,
      stderr: `taskq: workflow ${id} has not ended in time and continues — see taskq workflow show ${id}\n`,
    });
  });

  test('there is none to wait for', async () => {
    expect(await run('wait', '999')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no workflow 999'),
    });
  });
});

describe('a task that is a step', () => {
  test('says so in list and show, and is found by its workflow', async () => {
    const { id, tasks } = await insert([
      { step: 'fetch' },
      { step: 'old', status: 'dead' },
      { step: 'load', after: ['fetch'] },
    ]);
    await project.enqueue();
    const { tasks: found } = await project.json(['list', '--workflow', id]);
    expect(found.map((task: { id: string }) => task.id)).toEqual([tasks.load, tasks.old, tasks.fetch]);
    expect(found[0]).toMatchObject({ workflow_id: id, step: 'load', waits_for: 'parents' });
    const dead = await project.json(['dead', 'list', '--workflow', id]);
    expect(dead.tasks.map((task: { id: string }) => task.id)).toEqual([tasks.old]);
    expect((await project.run(['list', '--workflow', id])).stdout).toContain('for its parents');
    const shown = (await project.run(['show', tasks.load!])).stdout;
    expect(shown).toContain(
      `workflow   ${id}, step load: waits for its parents, see taskq explain ${tasks.load}\n`,
    );
    expect((await project.run(['show', tasks.fetch!])).stdout).toContain(`workflow   ${id}, step fetch\n`);
    expect(await project.run(['list', '--workflow', 'import'])).toMatchObject({
      code: 2,
      stderr: 'taskq: --workflow "import": expected the number of a workflow, such as 12\n',
    });
  });
});

describe('taskq workflow show', () => {
  test('prints a record and a tree', async () => {
    const { id, tasks } = await insert([
      { step: 'fetch', status: 'completed' },
      { step: 'left', after: ['fetch'], met: ['fetch'], task: { attempts: 1 } },
      { step: 'right', after: ['fetch'], status: 'dead' },
      { step: 'join', after: ['left', 'right'], on_death: 'wait' },
    ]);
    const [head, created, steps, ...lines] = await printed('show', id);
    expect(head).toEqual([`workflow ${id}`, 'import', 'running']);
    expect(created![0]).toBe('created');
    expect(steps).toEqual(['steps', '4: 1 completed, 1 pending, 1 blocked, 1 dead']);
    expect(lines).toEqual([
      [''],
      ['STEP', 'TASK', 'TYPE', 'STATUS', 'FAILED', 'TOOK', 'NOTE'],
      ['fetch', tasks.fetch, 'work', 'completed', '0', '-'],
      ['├─ left', tasks.left, 'work', 'pending', '1', '-', 'due'],
      ['│', '└─ join', tasks.join, 'work', 'blocked', '0', '-', 'waits for left (pending), right (dead)'],
      ['└─ right', tasks.right, 'work', 'dead', '0', '-', 'hopeless'],
    ]);
  });

  test('refuses an id that is none, and one that nothing is known of', async () => {
    expect(await run('show', 'import')).toMatchObject({
      code: 2,
      stderr: 'taskq: id "import": expected the number of a workflow, such as 12\n',
    });
    expect(await run('show', '999')).toMatchObject({
      code: 1,
      stderr: 'taskq: no workflow 999 — see taskq workflow list\n',
    });
  });
});
