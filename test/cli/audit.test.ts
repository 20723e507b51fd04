import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { TaskQueue } from '../../src/index.ts';
import { createProject, type Project } from './project.ts';

let project: Project;

beforeAll(async () => {
  project = await createProject();
});
afterAll(() => project.drop());

test('lists what commands and applications did: who, by which program, with which filter, and what was replaced', async () => {
  const id = await project.enqueueDead();
  await project.run(['dead', 'revive', '--type', 'double', '--by', 'ann@desk']);
  await project.run(['queues', 'set', 'mail', '--max-attempts', '7', '--by', 'ann@desk']);
  await project.run(['queues', 'set', 'mail', '--max-attempts', '8', '--by', 'bob']);
  const queue = new TaskQueue({ databaseUrl: project.url });
  onTestFinished(() => queue.close());
  await queue.retry(id, { by: 'app' });
  await queue.list({ type: 'double' }).cancel({ by: 'app', reason: 'over' });
  const { actions, next_after } = await project.json(['audit', '--limit', '4']);
  expect(actions).toMatchObject([
    { verb: 'cancel', by: 'app', via: 'taskq', filter: { type: 'double' }, reason: 'over' },
    { by: 'bob', via: 'taskq queues set', before: { max_attempts: 7 }, settings: { max_attempts: 8 } },
    { verb: 'set', queue: 'mail', before: { max_attempts: null }, settings: { max_attempts: 7 } },
    { verb: 'revive', via: 'taskq dead revive', filter: { type: 'double', by_hand: false }, task_ids: [id] },
  ]);
  expect(await project.json(['audit', '--limit', '4', '--after', next_after])).toMatchObject({
    next_after: null,
  });
  const { stdout } = await project.run(['audit', '--who', 'ann']);
  expect(stdout).toMatch(/^AT +VERB +WHO +VIA +WHAT +CHANGE +REASON\n\d{4}-\d\d-\d\d \S+ +set +ann@desk/);
  const records = [];
  for await (const record of queue.audit({ task: id })) records.push(record);
  expect(records).toMatchObject([
    { verb: 'cancel', taskIds: [id], at: expect.any(Date) },
    { verb: 'revive' },
  ]);
  expect((await project.run(['audit', '--queue', 'none'])).stderr).toBe('no action matches\n');
});

test.each([
  [['--after', 'x'], '--after "x": expected the next_after of the previous page'],
  [['--since', 'soon'], '--since "soon": expected a time'],
  [['--task', 'x'], 'x'],
])('refuses %j', async (options, message) => {
  const { code, stderr } = await project.run(['audit', ...options]);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});
