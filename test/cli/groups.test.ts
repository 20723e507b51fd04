import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sessionOf } from '../queue/session.ts';
import { outcome, registerWorker } from '../queue/worker.ts';
import { createProject, type Project } from './project.ts';

let project: Project;

beforeAll(async () => {
  project = await createProject();
});
beforeEach(() =>
  project.client.query(
    'truncate taskq.tasks, taskq.dead_tasks, taskq.queues, taskq.groups, taskq.group_rates, taskq.asks',
  ),
);
afterAll(() => project.drop());

const inMail = (group: string, options: object = {}) => project.enqueue({ queue: 'mail', group, ...options });

/** What is printed, line by line, with instants replaced. */
async function shown(group: string): Promise<string[]> {
  const { code, stdout, stderr } = await project.run(['groups', 'show', 'mail', group]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout
    .replaceAll(/\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} \((?:now|in \S+|\S+ ago)\)/g, 'TIME')
    .replaceAll(/created (?:now|\S+ ago)/g, 'created AGO')
    .trimEnd()
    .split('\n');
}

describe('taskq groups show', () => {
  test('says what applies, which tasks have a slot, and which come next', async () => {
    await project.run(['queues', 'set', 'mail', '--group-limit', '1']);
    const ids = [];
    for (const priority of [2, 2, 0]) ids.push(await inMail('ann', { priority }));
    const worker = await registerWorker(sessionOf(project.client), { double: {} });
    await worker.claim({ queues: ['mail'], types: ['double'] });
    expect(await shown('ann')).toEqual([
      'group ann',
      '  queue    mail',
      '  limit    1 slot (queue)',
      '  order    strict (default)',
      '  on dead  go-on (default)',
      '  tasks    1 with a slot, 2 waiting for one, 0 not due',
      '',
      'with a slot',
      `  ${ids[2]}  double  running since TIME`,
      '',
      'next',
      `  ${ids[0]}  double  priority 2, created AGO`,
      `  ${ids[1]}  double  priority 2, created AGO`,
    ]);
  });

  test('says what stops it: a dead letter, a task that put it off, and who paused it', async () => {
    await project.run(['queues', 'set', 'mail', '--group-on-dead', 'hold', '--group-limit', '2']);
    await project.run(['groups', 'set', 'mail', 'ann', '--limit', '3']);
    const ids = [await inMail('ann'), await inMail('ann')];
    const worker = await registerWorker(sessionOf(project.client), { double: {} });
    const held = await worker.claim({ queues: ['mail'], types: ['double'], start: 2 });
    await worker.settle(
      outcome(held[0]!, 'dead', { reason: 'hopeless' }),
      outcome(held[1]!, 'snoozed', { delay_ms: 60_000, hold: 'group' }),
    );
    await project.run(['groups', 'pause', 'mail', 'ann', '--by', 'bob', '--reason', 'deploy']);
    const lines = await shown('ann');
    expect(lines.slice(2, 8)).toEqual([
      '  limit    3 slots (group)',
      '  order    strict (default)',
      '  on dead  hold (queue)',
      expect.stringMatching(
        /^ {2}stopped {2}group ann is paused by \S+ \(bob\), .*, until it is resumed: deploy$/,
      ),
      `  stopped  group ann waits until task ${ids[0]}, a dead letter, is revived or discarded`,
      `  stopped  task ${ids[1]} has put off group ann until TIME`,
    ]);
    expect(lines.at(-1)).toBe(`  ${ids[1]}  double  due TIME`);
  });

  test('says which rate applies, and when it allows the next slot', async () => {
    await project.run(['queues', 'set', 'mail', '--group-rate', '1/1h', '--group-burst', '2']);
    for (let n = 0; n < 3; n++) await inMail('ann');
    expect((await shown('ann'))[3]).toBe('  rate     1/1h + 2 (queue)');
    const worker = await registerWorker(sessionOf(project.client), { double: {} });
    expect(await worker.claim({ queues: ['mail'], types: ['double'], start: 3 })).toHaveLength(2);
    expect((await shown('ann'))[3]).toMatch(/^ {2}rate {5}1\/1h \+ 2 \(queue\), next slot in (?:59m|1h)/);
    await project.run(['groups', 'set', 'mail', 'ann', '--rate', '5/1s']);
    expect((await shown('ann'))[3]).toContain('  rate     5/1s + 1 (group)');
    expect((await project.run(['groups', 'list', 'mail'])).stdout).toMatch(/ann +- +5\/1s \+ 1 /);
  });

  test('a group without tasks is shown with what would apply, and a note', async () => {
    await project.run(['queues', 'set', 'mail', '--group-limit', '1']);
    expect(await project.run(['groups', 'show', 'mail', 'nobody'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('limit    1 slot (queue)'),
      stderr: 'this group has no live task\n',
    });
    const { stderr } = await project.run(['groups', 'show', 'mial', 'ann']);
    expect(stderr).toContain('queue "mial" has had no tasks so far (did you mean "mail"?)');
  });
});

describe('taskq groups set', () => {
  test('says what it has set, and --json has that', async () => {
    const set = async (...args: string[]) =>
      (await project.run(['groups', 'set', 'mail', 'ann', ...args])).stdout;
    expect(await set('--limit', '3', '--rate', '100/1m', '--burst', '20')).toBe(
      `group ann of queue mail has a limit of 3
group ann of queue mail has a rate of 100/1m
group ann of queue mail has a burst of 20
`,
    );
    expect(await set('--burst', 'default')).toBe(
      'group ann of queue mail has the burst that its rate allows by default\n',
    );
    expect(await set('--rate', 'default')).toBe('the rate of queue mail applies to group ann\n');
    expect(await project.json(['groups', 'set', 'mail', 'ann', '--rate', '60 / 1m'])).toEqual({
      ...{ queue: 'mail', group: 'ann', rate: '60/1m' },
    });
  });

  test.each([
    [['--rate', 'often'], '--rate "often": expected n/duration such as 100/1m'],
    [['--rate', '0/1s'], '--rate "0/1s": expected n/duration'],
    [['--rate', '1/0s'], '--rate "1/0s": expected n/duration'],
    [['--rate', '5/1s', '--burst', '0'], '--burst "0": expected a whole number from 1 to 100000'],
    [['--burst', '5'], 'taskq: --burst 5 needs a rate'],
    [[], 'nothing to set: give --limit 1 or --rate 10/1s'],
  ])('%j is refused in one line, and nothing is stored', async (args, message) => {
    const { code, stdout, stderr } = await project.run(['groups', 'set', 'mail', 'ann', ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect((await project.client.query('select from taskq.groups')).rows).toEqual([]);
  });
});

describe('a task of a group in taskq list and show', () => {
  const inWords = async (...args: string[]) => (await project.run(args)).stdout;

  test('says when it is due while it is delayed, and that it waits for a slot then', async () => {
    await project.run(['queues', 'set', 'mail', '--group-limit', '1']);
    const delayed = await inMail('ann', { delay_ms: 3_600_000 });
    const [first, second] = [await inMail('ann'), await inMail('ann')];
    const worker = await registerWorker(sessionOf(project.client), { double: {} });
    await worker.claim({ queues: ['mail'], types: ['double'] });
    const { tasks } = await project.json(['list']);
    const due = (id: string) => tasks.find((task: { id: string }) => task.id === id).available_at;
    expect(Date.parse(due(delayed))).toBeGreaterThan(Date.now() + 3_000_000);
    expect(Date.parse(due(first))).toBeLessThan(Date.now() + 60_000);
    expect(due(second)).toBeNull();
    await project.client.query('delete from taskq.workers');
    const noWorker = 'due tasks wait: no worker is running\n';
    expect(await project.run(['list', '--status', 'blocked'])).toMatchObject({ stderr: noWorker });
    expect(await inWords('show', second)).toMatch(
      new RegExp(`^ {2}waits +group ann has 1 slot, taken by task ${first}; no worker is running$`, 'm'),
    );
    expect(await inWords('show', delayed)).not.toMatch(/^ {2}waits/m);
    const lines = (await inWords('list')).split('\n');
    const line = (id: string) => lines.find((one) => one.trimStart().startsWith(`${id} `));
    expect(line(delayed)).toMatch(/blocked .* due in (?:59m|1h)/);
    expect(line(second)).toMatch(/blocked .* for a slot/);
    expect(await inWords('show', delayed)).toMatch(/^ {2}due +\d{4}-.* \(in (?:59m|1h)/m);
    expect(await inWords('show', second)).toMatch(
      new RegExp(`^ {2}group +ann: waits for a slot, see taskq explain ${second}$`, 'm'),
    );
    expect(await inWords('show', second)).not.toMatch(/^ {2}due /m);
    expect(await inWords('show', first)).toMatch(/^ {2}group +ann$/m);
  });
});

describe('--group', () => {
  test('selects the tasks of a group, for lists and for verbs about many tasks', async () => {
    await project.run(['queues', 'set', 'mail', '--group-limit', '1']);
    const ann = [await inMail('ann'), await inMail('ann', { delay_ms: 3_600_000 })];
    const bob = await inMail('bob');
    const dead = await project.enqueueDead({ queue: 'mail', group: 'ann' });
    const ids = async (...args: string[]) =>
      (await project.json(args)).tasks.map((task: { id: string }) => task.id);
    expect(await ids('list', '--group', 'ann')).toEqual([dead, ann[1], ann[0]]);
    expect(await ids('list', '--queue', 'mail', '--group', 'bob')).toEqual([bob]);
    expect(await ids('list', '--group', 'an')).toEqual([]);
    expect(await ids('dead', 'list', '--group', 'ann')).toEqual([dead]);
    expect(await ids('dead', 'list', '--group', 'bob')).toEqual([]);
    expect(await project.json(['retry', '--group', 'ann'])).toMatchObject({ retried: 1, due: 1 });
    expect(await project.json(['cancel', '--group', 'ann', '--yes'])).toMatchObject({ cancelled: 2 });
    expect(await ids('list', '--status', 'blocked')).toEqual([bob]);
    expect(await project.json(['dead', 'discard', '--group', 'ann', '--yes'])).toMatchObject({
      discarded: 1,
    });
    expect(await project.json(['rerun', '--group', 'ann', '--yes'])).toMatchObject({ enqueued: 2 });
    await project.run(['cancel', '--group', 'ann', '--yes']);
    expect(await project.json(['purge', '--group', 'ann', '--yes'])).toMatchObject({ purged: 4 });
  });
});

test('a queue that has had no tasks is named with the nearest by every verb about groups', async () => {
  await inMail('ann');
  for (const [verb, ...args] of [['list'], ['show', 'ann'], ['set', 'ann', '--limit', '1'], ['pause', 'ann']])
    expect((await project.run(['groups', verb!, 'mial', ...args])).stderr, verb).toContain(
      'queue "mial" has had no tasks so far (did you mean "mail"?)',
    );
  expect((await project.run(['groups', 'resume', 'mial', 'bob'])).stderr).toContain('did you mean "mail"?');
  for (const [verb, ...args] of [
    ['list'],
    ['set', 'ann', '--limit', '1'],
    ['pause', 'ann'],
    ['resume', 'ann'],
  ])
    expect((await project.run(['groups', verb!, 'mail', ...args])).stderr, verb).toBe('');
});

test('a group without a task is named with the nearest that has one, by what sets, pauses or resumes it', async () => {
  await inMail('ann');
  for (const [verb, ...args] of [
    ['set', 'anna', '--limit', '1'],
    ['pause', 'anna'],
    ['resume', 'anna'],
  ])
    expect((await project.run(['groups', verb!, 'mail', ...args])).stderr, verb).toBe(
      'no live task is in group "anna" (did you mean "ann"?)\n',
    );
});

test('groups list says what stops a group, and groups resume what else does', async () => {
  await project.run(['queues', 'set', 'mail', '--group-limit', '1', '--group-on-dead', 'hold']);
  const id = await inMail('ann');
  await inMail('ann');
  await project.run(['dead', 'add', id, '--reason', 'broken']);
  const { code, stdout, stderr } = await project.run(['groups', 'resume', 'mail', 'ann']);
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: 'group ann is not paused\n',
    stderr: `group ann waits until task ${id}, a dead letter, is revived or discarded\n`,
  });
  expect((await project.run(['groups', 'list', 'mail', '--stopped'])).stdout).toMatch(
    new RegExp(`^GROUP .* STOPPED\\nann .* at dead letter ${id}\\n$`),
  );
  for (const command of [['show'], ['dead', 'show']])
    expect((await project.run([...command, id])).stdout).toMatch(
      /^ {2}group +ann, which stops until this is revived or discarded$/m,
    );
  await project.run(['queues', 'set', 'mail', '--group-on-dead', 'go-on']);
  expect((await project.run(['dead', 'show', id])).stdout).toMatch(/^ {2}group +ann$/m);
});
