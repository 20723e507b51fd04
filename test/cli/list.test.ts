import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sessionOf } from '../queue/session.ts';
import { claimOne, outcome, registerWorker } from '../queue/worker.ts';
import { createProject, type Project } from './project.ts';

describe('taskq list and show', () => {
  let project: Project;
  let [plain, tagged, dead] = ['', '', ''];

  beforeAll(async () => {
    project = await createProject();
    plain = await project.enqueue();
    tagged = await project.enqueue({
      queue: 'mail',
      key: 'k',
      tags: { a: 'b', c: 'd' },
      delay_ms: 36_000_000,
    });
    dead = await project.enqueueDead();
  });
  afterAll(() => project.drop());

  const ids = async (...args: string[]) => {
    const { tasks } = await project.json(['list', ...args]);
    return tasks.map((task: { id: string }) => task.id);
  };

  test('list prints a table, newest first', async () => {
    const { code, stdout, stderr } = await project.run(['list']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'due tasks wait: no worker is running\n' });
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.trim().split(/ {2,}/));
    expect(lines[0]).toEqual([
      'ID',
      'TYPE',
      'QUEUE',
      'STATUS',
      'PRI',
      'FAILED',
      'CREATED',
      'WHEN',
      'PAYLOAD',
    ]);
    expect(lines.slice(1).map(([id, , queue, status]) => [id, queue, status])).toEqual([
      [dead, 'default', 'dead'],
      [tagged, 'mail', 'pending'],
      [plain, 'default', 'pending'],
    ]);
    expect(stdout).toMatch(/due in 9h5\dm {2}\{"n":1\}/);
  });

  test('every filter', async () => {
    expect(await ids('--status', 'dead')).toEqual([dead]);
    expect(await ids('--status', 'dead,completed', '--status', 'pending')).toEqual([dead, tagged, plain]);
    expect(await ids('--failed')).toEqual([dead]);
    expect(await ids('--type', 'nothing')).toEqual([]);
    expect(await ids('--where', 'payload.n=1')).toEqual([dead, tagged, plain]);
    expect(await ids('--where', 'payload.n=1', '--where', 'payload.m=1')).toEqual([]);
    expect(await ids('--queue', 'mail')).toEqual([tagged]);
    expect(await ids('--tag', 'a=b', '--tag', 'c=d')).toEqual([tagged]);
    expect(await ids('--tag', 'a=x')).toEqual([]);
    expect(await ids('--key', 'k')).toEqual([tagged]);
    expect(await ids('--since', '1h')).toEqual([dead, tagged, plain]);
    expect(await ids('--since', '2100-01-01')).toEqual([]);
    expect(await ids('--before', '2100-01-01')).toEqual([dead, tagged, plain]);
    expect(await ids('--before', '1h')).toEqual([]);
  });

  test('pages by --limit and --after', async () => {
    const first = await project.json(['list', '--limit', '2']);
    expect(first.next_after).toBe(tagged);
    expect(await ids('--limit', '2', '--after', first.next_after)).toEqual([plain]);
    expect(await project.run(['list', '--limit', '2'])).toMatchObject({
      stderr: `there may be more: --after ${tagged}\n`,
    });
  });

  test('nothing found is said on stderr, not with --quiet', async () => {
    expect(await project.run(['list', '--queue', 'none'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'no task matches\n',
    });
    expect(await project.run(['list', '--queue', 'none', '--quiet'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });

  test('the escape sequences of a payload do not reach the terminal', async () => {
    await project.client.query(
      `select taskq.enqueue('double', $1, '{"queue": "odd", "allow_unknown": true}')`,
      [JSON.stringify('\u001b[31m\u0007\u202e')],
    );
    const { stdout } = await project.run(['list', '--queue', 'odd']);
    expect(stdout).toContain('"\\u001b[31m\\u0007\\u202e"');
  });

  test('show: a record with every error by attempt', async () => {
    const id = await project.enqueue({ queue: 'shown', max_attempts: 3 });
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      await project.client.query('update taskq.tasks set available_at = created_at where id = $1', [id]);
      const work = ['work', '--until-idle', '--max-tasks', '1', '--quiet', '--queues', 'shown'];
      await project.client.query(`update taskq.tasks set payload = '{"n": -${attempt}}' where id = $1`, [id]);
      await project.run(work);
    }
    const task = await project.json(['show', id]);
    expect(task).toMatchObject({ id, status: 'pending', attempts: 2, max_attempts: 3 });
    expect(task.errors.map((error: { error: { message: string } }) => error.error.message)).toEqual([
      'negative: -1',
      'negative: -2',
    ]);

    const { stdout } = await project.run(['show', id]);
    expect(stdout).toMatch(new RegExp(`^task ${id} {2}double {2}pending\\n {2}queue `));
    expect(stdout).toMatch(/failed +2 of 3 attempts/);
    expect(stdout).toMatch(/back-off +exponential 5s to 1h \(defaults\)\n +retention +7d \(defaults\)/);
    expect(stdout).toMatch(/\npayload\n {2}\{\n {4}"n": -2\n {2}\}\n/);
    expect(stdout).toMatch(/\nattempt 1: failed .*\n {2}RangeError: negative: -1\n {6}at /);
    expect(stdout).toMatch(/\nattempt 2: failed .*\n {2}RangeError: negative: -2\n/);
  });

  test('show: a revive stands among the attempts, with who and when, and unlimited attempts are called so', async () => {
    const id = await project.enqueue({ queue: 'revived', max_attempts: 1 });
    await project.client.query(`update taskq.tasks set payload = '{"n": -1}' where id = $1`, [id]);
    const work = ['work', '--until-idle', '--quiet', '--queues', 'revived'];
    await project.run(work);
    await project.json(['dead', 'revive', id, '--by', 'ann of support', '--max-attempts', 'unlimited']);
    await project.run(['work', '--max-tasks', '1', '--quiet', '--queues', 'revived']);
    const { stdout } = await project.run(['show', id]);
    expect(stdout).toMatch(
      /\nattempt 1: failed (?:.*\n)*revived {2}\d{4}-\d\d-\d\d .* by \w+ \(ann of support\)\n(?:.*\n)*attempt 1: failed /,
    );
    expect(stdout).toMatch(/failed +1 of unlimited attempts/);
    const again =
      /\nattempt 1: failed .*\n {2}RangeError: negative: -1\n {6}\(at the same place as before\)\n/;
    expect(stdout).toMatch(again);
    const { actions } = await project.json(['show', id]);
    expect(actions).toMatchObject([{ verb: 'revive', by: 'ann of support' }]);
    await project.json(['cancel', id, '--reason', 'it never will']);
    const shown = await project.run(['show', id]);
    expect(shown.stdout).toMatch(/\ncancelled {2}.* by \w+ \(\S+@\S+\): it never will\n/);
  });

  test('show: what a task saw each time it was put off, which burned no attempt', async () => {
    const handler = `import { Snooze } from ${JSON.stringify(new URL('../../dist/bundled/index.js', import.meta.url).href)};
      const states = ['queued', 'running'];
      export default () => {
        const state = states.shift();
        if (state !== undefined) throw new Snooze('10ms', { result: { state } });
        return 'done';
      };`;
    await project.write('handlers/poll.mjs', handler);
    const { id } = (await project.json(['enqueue', 'poll'])) as { id: string };
    await project.run(['work', '--types', 'poll', '--until-idle']);
    const { stdout } = await project.run(['show', id]);
    expect(stdout).toMatch(
      /\nsnoozed {2}.*\n {2}\{\n {4}"state": "queued"\n {2}\}\n\nsnoozed {2}.*\n {2}\{\n {4}"state": "running"/,
    );
    expect(stdout).not.toContain('attempt 0');
  });

  test('show: no such task, exit 1', async () => {
    expect(await project.run(['show', '999999'])).toMatchObject({
      code: 1,
      stderr: 'taskq: no task 999999: it never existed, or was deleted by purge, discard or its retention\n',
    });
  });
});

describe('a task that runs', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  test('a task that has expired is not due', async () => {
    await project.enqueue({ queue: 'late', expires_ms: 60_000 });
    const listed = async () => (await project.run(['list', '--queue', 'late'])).stdout;
    expect(await listed()).toMatch(/ pending .* due /);
    await project.client.query(
      "update taskq.tasks set expires_at = now() - interval '5 minutes' where queue = 'late'",
    );
    expect(await listed()).toMatch(/ pending .* expired 5m(\d+s)? ago /);
  });

  test('a running task that has exceeded its timeout is marked as such', async () => {
    const id = await project.enqueue({ queue: 'slow', timeout_ms: 60_000 });
    const worker = await registerWorker(sessionOf(project.client), { double: {} });
    const task = await claimOne(worker, { types: ['double'], queues: ['slow'] });
    const shown = async () => (await project.run(['show', id])).stdout;
    const listed = async () => (await project.run(['list', '--queue', 'slow'])).stdout;
    expect(await shown()).toMatch(/^ {2}timeout {2,}1m$/m);
    expect(await listed()).toMatch(/ started (now|\ds ago) /);
    await project.client.query(
      "update taskq.tasks set started_at = now() - interval '6 minutes' where id = $1",
      [id],
    );
    expect(await shown()).toMatch(/^ {2}timeout {2,}1m, passed 5m(\d+s)? ago: its handler has not ended$/m);
    expect(await listed()).toMatch(/ running .* timed out 5m(\d+s)? ago /);
    const [{ started_at, times_out_at }] = (await project.json(['list', '--queue', 'slow'])).tasks;
    expect(Date.parse(times_out_at) - Date.parse(started_at)).toBe(60_000);
    await worker.settle(outcome(task, 'dead', { reason: 'over' }));
    expect((await project.json(['show', id])).times_out_at).toBeNull();
  });
});
