import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { TaskQueue } from '../../src/index.ts';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';
import { createProject, type Project } from './project.ts';

let project: Project;

beforeAll(async () => {
  project = await createProject();
});
afterEach(killStartedTaskqs);
afterAll(() => project.drop());
beforeEach(async () => {
  await project.client.query('delete from taskq.tasks; delete from taskq.dead_tasks');
});

async function dead(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push(await project.enqueueDead());
  return ids;
}

const REVIVE = ['dead', 'revive', '--type', 'double'];

test('a revive is tried, started with a patch, and followed to its end', async () => {
  const ids = await dead(3);
  const dry = await project.run([...REVIVE, '--dry-run']);
  expect(dry.stdout).toBe(`would revive 3 tasks: ${ids.toReversed().join(', ')}\n`);
  const unexpected = await project.run([...REVIVE, '--expect', '4']);
  expect(unexpected).toMatchObject({ code: 1, stdout: '' });
  expect(unexpected.stderr).toContain('3 tasks match, not 4: nothing was started');
  const { code, stdout } = await project.run([
    ...REVIVE,
    '--expect',
    '3',
    '--patch',
    '{"n": 9, "old": null}',
  ]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^operation \d+ completed: revived 3 of 3 tasks\n$/);
  const { rows } = await project.client.query('select distinct payload from taskq.tasks');
  expect(rows).toEqual([{ payload: { n: 9 } }]);
});

test('what a discard and a purge would delete is named, and nothing is changed', async () => {
  const ids = (await dead(3)).toReversed();
  const discard = ['dead', 'discard', '--type', 'double', '--dry-run'];
  expect(await project.run(discard)).toMatchObject({
    ...{ code: 0, stdout: `would discard 3 tasks: ${ids.join(', ')}\n`, stderr: '' },
  });
  expect((await project.run([...discard, '--limit', '2'])).stdout).toBe(
    `would discard 2 tasks: ${ids.slice(0, 2).join(', ')}\n`,
  );
  expect(await project.json(['dead', 'discard', ids[0]!, '--dry-run'])).toEqual({
    ...{ dry_run: true, matched: 1, at_least: false, ids: [ids[0]] },
  });
  expect((await project.run(['purge', '--all', '--dry-run'])).stdout).toBe('no task matches\n');
  const { rows } = await project.client.query('select count(*)::integer as count from taskq.dead_tasks');
  expect(rows).toEqual([{ count: 3 }]);
});

test('what a cancel, retry, edit and rerun would act on is named, and nothing is changed', async () => {
  const waiting: string[] = [];
  for (let n = 0; n < 3; n++) waiting.push(await project.enqueue({ queue: 'later', delay_ms: 3_600_000 }));
  const newest = waiting.toReversed().join(', ');
  const before = await project.json(['list']);
  for (const [verb, ...options] of [['cancel'], ['retry'], ['edit', '--to-priority', '0']] as const)
    expect(await project.run([verb, '--queue', 'later', ...options, '--dry-run'])).toMatchObject({
      ...{ code: 0, stdout: `would ${verb} 3 tasks: ${newest}\n`, stderr: '' },
    });
  expect((await project.run(['cancel', waiting[0]!, '--dry-run'])).stdout).toBe(
    `would cancel 1 task: ${waiting[0]}\n`,
  );
  expect((await project.run(['rerun', '--all', '--dry-run'])).stdout).toBe('no task matches\n');
  const refused = await project.run(['edit', '--all', '--to-priority', '11', '--dry-run']);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect((await project.json(['list'])).tasks).toEqual(before.tasks);
});

/** Makes dead letters that died after all others. */
const bury = (count: number) =>
  project.client.query(
    `insert into taskq.dead_tasks (id, created_at, not_before, died_at, lease_no, attempts, losses, releases, priority,
       notify_done, reason, queue, type, payload, created_by)
     select 1000000 + n, ts, ts, ts, 1, 3, 0, 0, 2, false, 'attempts_spent', 'default', 'double', '{}', 'me'
     from clock_timestamp() as ts, generate_series(1, $1::integer) as n`,
    [count],
  );

test('a dry run counts by payload as deep as without one, and does not say none where there may be more', async () => {
  const id = await project.enqueueDead();
  await project.client.query(`update taskq.dead_tasks set payload = '{"order": {"id": 42}}'`);
  await bury(20_000);
  const discard = (where: string) => project.run(['dead', 'discard', '--where', where, '--dry-run']);
  expect((await discard('payload.order.id=42')).stdout).toBe(`would discard 1 task: ${id}\n`);
  await project.client.query('delete from taskq.dead_tasks where id > 1000000');
  await bury(100_001);
  expect((await discard('payload.order.id=42')).stdout).toBe(
    'no task matches among the newest 100,000; older ones may\n',
  );
});

test('an operation is listed, shown and stopped, by whoever comes next', async () => {
  await dead(2);
  const started = await project.run([...REVIVE, '--canary', '1', '--rate', '1/1m', '--detach']);
  const id = started.stdout.trim();
  expect(started.stderr).toBe(
    `no worker is running: start one, or advance it with taskq operations wait ${id}\n`,
  );
  const list = await project.run(['operations', '--state', 'canary']);
  expect(list.stdout).toMatch(new RegExp(`^ID +VERB +STATE .*\\n *${id} +revive +canary +0/2 `));
  const shown = (await project.run(['operations', 'show', id])).stdout;
  expect(shown).toContain(`operation ${id}  revive  canary\n  filter    {"type":"double"}\n`);
  expect(shown).toContain('limits    1 task first, at most 1/1m, stops when more than 0% died again');
  const queue = new TaskQueue({ databaseUrl: project.url });
  onTestFinished(() => queue.close());
  expect(await queue.operations.get(id)).toMatchObject({ state: 'canary', stopAt: '0%', endedAt: null });
  const stopped = await project.run(['operations', 'stop', id, '--by', 'bob', '--reason', 'wrong']);
  expect(stopped.stdout).toBe(`operation ${id} is stopped\n`);
  const waited = await project.run(['operations', 'wait', id]);
  expect(waited.code).toBe(1);
  expect(waited.stderr).toMatch(/operation \d+ stopped: stopped by \S+ \(bob\): wrong/);
  expect(await project.run(['operations', 'stop', id])).toMatchObject({ code: 1 });
  expect((await project.run(['operations', 'show', '999'])).stderr).toContain('no operation 999');
});

test('a canary in a paused queue says for which tasks it waits, and why they wait', async () => {
  await dead(2);
  await project.run(['queues', 'pause', 'default', '--reason', 'incident']);
  onTestFinished(async () => void (await project.run(['queues', 'resume', 'default'])));
  const started = startTaskq([...REVIVE, '--canary', '1'], {
    cwd: project.directory,
    env: { DATABASE_URL: project.url },
  });
  const waits = /task (\d+) waits: queue default is paused by .*: incident\n/;
  await vi.waitUntil(() => waits.test(started.stderr()), { timeout: 120_000 });
  const task = waits.exec(started.stderr())![1];
  started.kill('SIGINT');
  await started.exit;
  const [{ id }] = (await project.json(['operations', '--state', 'canary'])).operations;
  const shown = await project.run(['operations', 'show', id]);
  expect(shown.stdout).toContain(`waiting for the first to end (task ${task})`);
  expect(shown.stderr).toMatch(waits);
  await project.run(['operations', 'stop', id]);
});

test('what had not ended when an operation had is said, as it may die again', async () => {
  await dead(2);
  const { stdout } = await project.run([...REVIVE, '--stop-at', '20%']);
  expect(stdout).toMatch(/completed: revived 2 of 2 tasks, 2 of these had not ended yet\n$/);
  expect((await project.run(['operations', '--limit', '1'])).stdout).toMatch(/ 2\/2 +0 +0\+ /);
});

test('Ctrl-C ends the command and not the operation', async () => {
  await dead(2);
  const started = startTaskq([...REVIVE, '--rate', '1/1h'], {
    cwd: project.directory,
    env: { DATABASE_URL: project.url },
  });
  const idOf = async () =>
    (await project.client.query('select id from taskq.operations where done = 1 and ended_at is null'))
      .rows[0]?.id;
  let id: string | undefined;
  while (id === undefined) id = await idOf();
  started.kill('SIGINT');
  const { code } = await started.exit;
  expect(code).toBe(130);
  expect(started.stderr()).toContain(`operation ${id} continues: follow it with taskq operations wait ${id}`);
  expect(await project.json(['operations', 'show', id])).toMatchObject({ state: 'running', done: 1 });
  await project.run(['operations', 'stop', id]);
});

test('a task that fails is named, and the exit code is 1', async () => {
  const id = await project.enqueueDead({ key: 'held' });
  await project.enqueue({ key: 'held' });
  const { code, stderr, stdout } = await project.run([...REVIVE, '--rate', '5/1s']);
  expect(code).toBe(1);
  expect(stdout).toMatch(/completed: revived 0 of 1 tasks, 1 failed\n$/);
  expect(stderr).toBe(`taskq: task ${id} failed: another task has its key\n`);
});

test('the letters of a bug are shown by the fingerprint of their group', async () => {
  const [, last] = await dead(2);
  const { groups } = await project.json(['dead', 'groups']);
  const digits: string = groups[0].fingerprint.slice(0, 5);
  expect(await project.json(['dead', 'show', '--fingerprint', digits])).toMatchObject({
    group: { fingerprint: groups[0].fingerprint, count: 2 },
    last: { id: last },
  });
  const { stdout } = await project.run(['dead', 'show', '--fingerprint', digits]);
  expect(stdout).toMatch(new RegExp(`^FINGERPRINT[^]*the last of them:\\ntask ${last}  double  dead`));
  expect((await project.run(['dead', 'show', '--fingerprint', 'fffffffff'])).stderr).toContain(
    'no dead letter has a fingerprint that begins with fffffffff',
  );
});

test('the library counts, starts, lists and stops operations', async () => {
  const ids = await dead(2);
  const { operations, close } = bound(new TaskQueue({ databaseUrl: project.url }));
  onTestFinished(close);
  const given = { verb: 'discard', filter: { type: 'double' }, by: 'ann', reason: 'old' } as const;
  expect(await operations.dryRun(given)).toEqual({ matched: 2, atLeast: false, ids: ids.toReversed() });
  await expect(operations.start({ ...given, expect: 5 })).rejects.toMatchObject({
    code: 'unexpected_matches',
  });
  await expect(operations.start({ verb: 'purge', filter: {} })).rejects.toThrow('means every task');
  const started = await operations.start({ ...given, rate: '1 / 60s' });
  expect(started).toMatchObject({
    verb: 'discard',
    state: 'running',
    rate: '1/1m',
    by: 'ann',
    reason: 'old',
  });
  expect(started.createdAt).toBeInstanceOf(Date);
  const listed = [];
  for await (const { id } of operations.list({ state: 'running' })) listed.push(id);
  expect(listed).toEqual([started.id]);
  expect(await operations.stop(started.id, { by: 'ann' })).toBe(true);
  expect(await operations.stop(started.id)).toBe(false);
  expect(await operations.get('999999')).toBeUndefined();
});

function bound(queue: TaskQueue) {
  return { operations: queue.operations, close: () => queue.close() };
}

test.each([
  [[...REVIVE, '--rate', 'fast'], '--rate "fast": expected n/duration such as 100/1m'],
  [[...REVIVE, '--canary', '0'], '--canary 0: expected a whole number from 1 to 1000'],
  [[...REVIVE, '--stop-at', '120%'], '--stop-at "120%": expected a percentage from 0% to 100%'],
  [[...REVIVE, '--patch', '[1]'], '--patch "[1]": expected an object'],
  [[...REVIVE, '--patch', '{}', '--payload', '{}'], 'give one of them'],
  [[...REVIVE, '--rate', '1/1s', '--limit', '3'], '--limit: an operation revives all that match'],
  [['dead', 'show'], 'give either the id of a dead letter or --fingerprint'],
  [['operations', 'list', '--state', 'runing'], 'did you mean "running"?'],
  [['operations', 'show', 'x'], 'expected the number of an operation, such as 12'],
])('refuses %j', async (args, message) => {
  const { code, stderr } = await project.run(args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
