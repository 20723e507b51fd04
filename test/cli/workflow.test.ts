import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type GivenStep, insertWorkflow } from '../queue/flow/steps.ts';
import { sessionOf } from '../queue/session.ts';
import { waitUntil } from '../queue/waiting.ts';
import { claimOne, outcome, registerWorker } from '../queue/worker.ts';
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
  const { code, stdout, stderr } = await run(...args, '--quiet');
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

/** Starts a workflow as taskq.run_workflow does; `double` fails for a negative number. */
async function start(steps: readonly object[]): Promise<string> {
  const workflow = { name: 'import', steps: steps.map((step) => ({ type: 'double', ...step })) };
  const text = `select id from taskq.run_workflow($1, '{"allow_unknown": true}')`;
  return (await project.client.query<{ id: string }>(text, [JSON.stringify(workflow)])).rows[0]!.id;
}

const work = () => project.run(['work', '--until-idle', '--quiet', '--poll', '50ms']);

describe('taskq workflow cancel', () => {
  test('ends what waits, and says why in show', async () => {
    const id = await start([
      { step: 'a', delay_ms: 60_000 },
      { step: 'b', after: ['a'] },
    ]);
    expect(await run('cancel', id, '--reason', 'wrong file', '--by', 'ann')).toMatchObject({
      ...{ code: 0, stdout: `workflow ${id} is cancelled\n`, stderr: '' },
    });
    const { stdout } = await run('show', id);
    expect(stdout).toMatch(/^workflow \d+ {2}import {2}cancelled\n/);
    expect(stdout).toMatch(/cancel asked {2}.*: wrong file\n/);
    expect(await run('cancel', id)).toMatchObject({
      code: 1,
      stderr: `taskq: workflow ${id} has already ended: cancelled — see taskq workflow show ${id}\n`,
    });
  });

  test('waits for running steps as long as it is told', async () => {
    const id = await start([{ step: 'a' }]);
    const worker = await registerWorker(sessionOf(project.client), { double: {} });
    const task = await claimOne(worker, { types: ['double'] });
    const asked = `asked the workers to cancel the running steps of workflow ${id}\n`;
    expect(await run('cancel', id, '--wait', '0s')).toMatchObject({ code: 0, stdout: asked });
    const { rows } = await project.client.query('select cancel_reason from taskq.tasks where id = $1', [
      task.id,
    ]);
    expect(rows).toEqual([{ cancel_reason: 'its workflow was cancelled' }]);
    expect(await run('cancel', id, '--wait', '100ms')).toMatchObject({ code: 4, stdout: asked });
    await project.client.query('update taskq.workflows set notify_done = false');
    const cancelled = run('cancel', id);
    const awaited = 'select from taskq.workflows where notify_done';
    await waitUntil(async () => (await project.client.query(awaited)).rowCount === 1, 'nobody waits');
    await worker.settle(outcome(task, 'cancelled', { reason: null }));
    await worker.claim({ types: ['double'] });
    expect(await cancelled).toMatchObject({ code: 0, stdout: `workflow ${id} is cancelled\n` });
  });

  test('there is none to cancel', async () => {
    expect(await run('cancel', '999')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no workflow 999'),
    });
  });
});

describe('taskq workflow retry', () => {
  test('runs what has died again, and the workflow completes', async () => {
    const id = await start([
      { step: 'a', payload: { n: 1 } },
      { step: 'b', payload: { n: -1 }, after: ['a'], max_attempts: 1 },
      { step: 'c', payload: { n: 2 }, after: ['b'] },
    ]);
    await work();
    expect(await run('wait', id)).toMatchObject({
      code: 1,
      stdout: 'failed\n',
      stderr: `taskq: workflow ${id} has failed (3 steps: 1 completed, 1 dead, 1 cancelled) — see taskq workflow show ${id}\n`,
    });
    expect((await run('show', id)).stdout).toContain('cancelled with its parent');
    await project.client.query(`update taskq.dead_tasks set payload = '{"n": 3}'`);
    expect(await run('retry', id)).toMatchObject({ code: 0, stdout: 'retried 2 steps\n', stderr: '' });
    await work();
    expect(await run('wait', id)).toMatchObject({ code: 0, stdout: 'completed\n' });
    expect(await run('retry', id)).toMatchObject({ code: 0, stdout: `no step of workflow ${id} has died\n` });
  });

  test('says what cannot return, and why', async () => {
    const id = await start([{ step: 'a', payload: { n: -1 }, max_attempts: 1, key: 'k' }]);
    await work();
    const holder = await project.enqueue({ key: 'k' });
    expect(await run('retry', id)).toMatchObject({
      ...{ code: 1, stdout: 'retried 0 steps\n' },
      stderr: `taskq: step a was not retried: task ${holder} holds its key "k"\n`,
    });
    await project.client.query('delete from taskq.dead_tasks');
    expect((await run('retry', id)).stderr).toMatch(
      /^taskq: step a was not retried: nothing is known of task \d+/,
    );
  });

  test('says which step still runs, and was asked to end', async () => {
    const id = await start([{ step: 'a' }]);
    const worker = await registerWorker(sessionOf(project.client), { double: {} });
    const task = await claimOne(worker, { types: ['double'] });
    expect(await run('cancel', id, '--wait', '0s')).toMatchObject({ code: 0 });
    expect(await run('retry', id)).toMatchObject({
      ...{ code: 1, stdout: 'retried 0 steps\n' },
      stderr:
        'taskq: step a still runs: it goes on unless its handler ends because it was asked to; then retry again\n',
    });
    expect(await worker.heartbeat([task])).toMatchObject([{ cancel_requested: false }]);
  });

  test('revives the dead task that adds steps, without which the workflow is stuck', async () => {
    const opened = await run('open', 'flow', '--on-step', 'double');
    const id = opened.stdout.trim();
    const worker = await registerWorker(sessionOf(project.client), { double: {} });
    await worker.claim();
    const task = await claimOne(worker, { types: ['double'] });
    await worker.settle(outcome(task, 'dead'));
    await worker.claim();
    expect((await run('show', id)).stdout).toMatch(
      new RegExp(
        `its task of onStep, which adds steps and closes it, will not run again: taskq workflow retry ${id}`,
      ),
    );
    const adds = `task ${task.id} adds the next step\n`;
    expect(await run('retry', id)).toMatchObject({ code: 0, stdout: adds, stderr: '' });
    expect(await run('show', id, '--json')).toMatchObject({
      stdout: expect.stringContaining('"state":"open"'),
    });
  });

  test('there is none to retry', async () => {
    expect(await run('retry', '999')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no workflow 999'),
    });
  });
});

test('taskq workflow run --wait prints how it has ended', async () => {
  const steps = (n: number) => [{ step: 'a', type: 'double', payload: { n }, maxAttempts: 1 }];
  const file = (n: number) => project.write('flow.json', JSON.stringify({ name: 'import', steps: steps(n) }));
  const completes = run('run', await file(1), '--wait');
  await waitUntil(
    async () => (await project.json(['workflow', 'list'])).workflows.length > 0,
    'it has not begun',
  );
  await work();
  expect(await completes).toMatchObject({
    code: 0,
    stdout: 'completed\n',
    stderr: expect.stringMatching(/^workflow \d+ has started\n/),
  });
  expect(await run('run', await file(1), '--wait', '50ms')).toMatchObject({ code: 4 });
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
    const { stdout } = await project.run(['list', '--workflow', id]);
    expect(stdout).toContain('for its parents');
    const cells = stdout.split('\n').map((line) => line.trim().split(/ {2,}/)[2]);
    expect(cells.slice(0, 4)).toEqual(['STEP', 'load', 'old', 'fetch']);
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
