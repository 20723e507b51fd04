import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { insertWorkflow } from '../queue/flow/steps.ts';
import { sessionOf } from '../queue/session.ts';
import { claimOne, outcome, registerWorker } from '../queue/worker.ts';
import { createProject, type Project } from './project.ts';

let project: Project;

beforeAll(async () => {
  project = await createProject();
});
beforeEach(() => project.client.query('truncate taskq.tasks, taskq.workers, taskq.queues, taskq.asks'));
afterAll(() => project.drop());

/** Line by line, with instants replaced. */
async function explained(id: string): Promise<string[]> {
  const { code, stdout, stderr } = await project.run(['explain', id]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout
    .replaceAll(/\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} \((?:now|in \S+|\S+ ago)\)/g, 'TIME')
    .trimEnd()
    .split('\n');
}

test('each cause is a line, and the first says when it may start', async () => {
  const id = await project.enqueue({ delay_ms: 3_600_000 });
  expect(await explained(id)).toEqual([
    `task ${id}  double  pending  does not start until someone acts`,
    '  delayed    due at TIME',
    '  no_worker  no worker is running',
  ]);
  const worker = await registerWorker(sessionOf(project.client), { double: {} });
  expect(await explained(id)).toEqual([
    `task ${id}  double  pending  may start at TIME`,
    '  delayed  due at TIME',
  ]);
  await project.run(['retry', id]);
  expect(await explained(id)).toEqual([
    `task ${id}  double  pending  may start now`,
    '  nothing keeps it: a worker takes it with its next claim',
  ]);
  await project.run(['queues', 'pause', 'default', '--reason', 'deploy', '--by', 'ann']);
  expect((await explained(id))[1]).toMatch(
    /^ {2}queue_paused {2}queue default is paused by \S+ \(ann\), .*, until it is resumed: deploy$/,
  );
  await project.run(['queues', 'resume', 'default']);
  const task = await claimOne(worker, { types: ['double'] });
  expect(await explained(id)).toEqual([
    `task ${id}  double  running`,
    '  running  it runs on worker plain:1:a, since TIME',
  ]);
  await worker.settle(outcome(task, 'dead', { reason: 'hopeless' }));
  expect(await explained(id)).toEqual([
    `task ${id}  double  dead`,
    '  ended  at TIME: hopeless',
    `  its attempts: taskq dead show ${id}; to run it again: taskq dead revive ${id}`,
  ]);
});

test('what is put off, lost, expired, busy and behind is said in words', async () => {
  const session = sessionOf(project.client);
  await registerWorker(session, { double: {} });
  await project.enqueue();
  const id = await project.enqueue();
  await session.rows('update taskq.workers set running = 8');
  expect(await explained(id)).toEqual([
    `task ${id}  double  pending  waits for a slot of a worker`,
    '  slots_busy  all slots of the worker that can take it are in use (8)',
    '  behind      1 task of queue default comes first',
  ]);
  await session.rows('update taskq.tasks set losses = 1, lost_ahead = 3');
  expect((await explained(id))[1]).toBe(
    '  suspect     its handler did not report its end: it runs in a process of its own, and is claimed alone',
  );
  await session.rows(
    "update taskq.tasks set losses = 0, started_at = now(), available_at = now() + interval '1 h'",
  );
  expect((await explained(id))[1]).toBe('  snoozed  its handler put it off until TIME');
  const shown = (await project.run(['show', id])).stdout;
  expect(shown).toMatch(/^ {2}waits {2,}its handler put it off until .* \(in \d+[hm]\)$/m);
  await session.rows('update taskq.tasks set attempts = 1');
  expect((await explained(id))[1]).toBe('  retrying  its last attempt failed; the next is due at TIME');
  expect((await project.run(['show', id])).stdout).not.toContain('waits');
  await session.rows('update taskq.tasks set started_at = null, available_at = now(), expires_at = now()');
  await session.rows('update taskq.workers set stopped_at = now()');
  expect(await explained(id)).toEqual([
    `task ${id}  double  pending  will not run`,
    '  expired  it expired at TIME, before it started, and will not run',
  ]);
});

test('one behind others waits for its turn, one of a full queue for others to end', async () => {
  const session = sessionOf(project.client);
  const worker = await registerWorker(session, { double: {} });
  await session.rows('truncate taskq.tasks');
  await project.enqueue();
  const id = await project.enqueue();
  expect((await explained(id))[0]).toBe(`task ${id}  double  pending  waits for its turn`);
  await project.run(['queues', 'set', 'default', '--max-running', '1']);
  await claimOne(worker, { types: ['double'] });
  expect((await explained(id))[0]).toBe(`task ${id}  double  pending  waits for others of its queue to end`);
  await project.run(['queues', 'set', 'default', '--max-running', 'default']);
  await session.rows("update taskq.workers set heartbeat_at = heartbeat_at - interval '1 h'");
  const held = (await session.value<string>('select id from taskq.tasks where lease_owner is not null'))!;
  expect((await explained(held)).at(-1)).toMatch(/has been silent for .*: no other is running to take over$/);
  await registerWorker(session, { double: {} });
  expect((await explained(held)).at(-1)).toMatch(/has been silent for .*: another takes over$/);
});

test('one that another transaction keeps locked names its session', async () => {
  await registerWorker(sessionOf(project.client), { double: {} });
  const id = await project.enqueue({ queue: 'locked' });
  const other = new pg.Client({ connectionString: project.url, application_name: 'shop' });
  await other.connect();
  await other.query('begin');
  await other.query('select taskq.cancel($1)', [[id]]);
  const lines = await explained(id).finally(() => other.end());
  expect(lines[0]).toBe(`task ${id}  double  pending  does not start until someone acts`);
  expect(lines[1]).toMatch(
    /^ {2}locked {2}session \d+ \(shop of \S+\) keeps its row locked, in a transaction open since TIME$/,
  );
});

test('a step says which parents it waits for, and what they do', async () => {
  const session = sessionOf(project.client);
  await registerWorker(session, { work: {} });
  const parents = Array.from({ length: 12 }, (_, n) => `p${n + 1}`);
  const { id, tasks } = await insertWorkflow(session, [
    { step: 'a', status: 'completed' },
    { step: 'b', status: 'dead' },
    ...parents.map((step) => ({ step })),
    { step: 'end', after: ['a', 'b', 'p1'], met: ['a'], on_death: 'wait' },
    { step: 'wide', after: parents },
    { step: 'late', after: ['p1'], task: { not_before: new Date(Date.now() + 3_600_000) } },
    { step: 'next', after: ['a'], met: ['a'], status: 'waiting' },
  ]);
  expect(await explained(tasks.end!)).toEqual([
    `task ${tasks.end}  work  blocked  waits for its parents`,
    '  waiting_for_parents  it waits for its parents: b (dead), p1 (pending); it waits until b completes',
  ]);
  expect((await explained(tasks.wide!))[1]).toMatch(/: p1 \(pending\), .*, p10 \(pending\) and 2 more$/);
  expect((await explained(tasks.late!)).slice(1)).toEqual([
    '  delayed              due at TIME',
    '  waiting_for_parents  it waits for its parents: p1 (pending)',
  ]);
  expect((await explained(tasks.next!))[1]).toBe(
    '  waiting_for_parents  its parents have ended: a worker releases it with its next claim',
  );
  const { causes, may_start_at: at } = await project.json(['explain', tasks.end!]);
  const waited = (step: string, status: string) => ({ step, status, task: tasks[step], on_death: 'wait' });
  expect({ causes, at }).toEqual({
    at: null,
    causes: [
      {
        ...{ cause: 'waiting_for_parents', until: null, workflow: id, step: 'end', more: 0 },
        parents: [waited('b', 'dead'), waited('p1', 'pending')],
      },
    ],
  });
});

test('a task of a group says what the group waits for, and how many of it come first', async () => {
  const worker = await registerWorker(sessionOf(project.client), { double: {} });
  await project.run(['queues', 'set', 'default', '--group-limit', '1']);
  const ids = [];
  for (let n = 0; n < 3; n++) ids.push(await project.enqueue({ group: 'ann' }));
  expect(await explained(ids[2]!)).toEqual([
    `task ${ids[2]}  double  blocked  waits for a slot of its group`,
    '  group_full  group ann has 1 slot; 2 tasks of the group come first',
  ]);
  const first = await claimOne(worker, { types: ['double'] });
  expect((await explained(ids[1]!))[1]).toBe(`  group_full  group ann has 1 slot, taken by task ${ids[0]}`);
  await worker.settle(outcome(first, 'failed', { delay_ms: 60_000 }));
  expect((await explained(ids[2]!))[1]).toBe(
    `  group_full  group ann has 1 slot, taken by task ${ids[0]}, due at TIME; 1 task of the group comes first`,
  );
  await project.run(['groups', 'pause', 'default', 'ann', '--by', 'bob', '--reason', 'deploy']);
  const [head, paused] = await explained(ids[1]!);
  expect(head).toBe(`task ${ids[1]}  double  blocked  does not start until someone acts`);
  expect(paused).toMatch(
    /^ {2}group_paused {2}group ann is paused by \S+ \(bob\), .*, until it is resumed: deploy$/,
  );
  await project.run(['groups', 'resume', 'default', 'ann']);
});

test('an unknown task, and no id, are refused as by show', async () => {
  expect(await project.run(['explain', '999999'])).toMatchObject({ code: 1, stdout: '' });
  const { stderr } = await project.run(['explain', '999999']);
  expect(stderr).toBe((await project.run(['show', '999999'])).stderr);
  expect((await project.run(['explain', 'x'])).code).toBe(2);
});
