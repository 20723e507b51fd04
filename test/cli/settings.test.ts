import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TaskQueue } from '../../src/library/task-queue.ts';
import { createProject, type Project } from './project.ts';

describe('what the configuration says of tasks', () => {
  let project: Project;
  let queue: TaskQueue;

  beforeAll(async () => {
    project = await createProject();
    queue = new TaskQueue({ databaseUrl: project.url });
  });
  afterAll(async () => {
    await queue.close();
    await project.drop();
  });

  const configure = (config: object) => project.write('taskq.config.json', JSON.stringify(config));
  const work = () => project.run(['work', '--until-idle', '--poll', '50ms'], { env: { NO_COLOR: '1' } });

  /** Seconds. */
  const mayWait = async (id: string) =>
    (
      await project.client.query<{ wait: number }>(
        'select extract(epoch from expires_at - not_before)::integer as wait from taskq.all_tasks where id = $1',
        [id],
      )
    ).rows[0]!.wait;

  test('counts for every producer once a worker has started with it', async () => {
    await configure({
      ...{ maxAttempts: 9, timeout: '5s', expires: '3h' },
      taskTypes: {
        double: {
          queue: 'q9',
          priority: 'low',
          backoff: { kind: 'fixed', base: 0 },
          maxAttempts: 2,
          expires: '2h',
        },
      },
      queueSettings: {
        mail: {
          timeout: '7s',
          errorsRetention: '3d',
          deadRetention: 'ever',
          groupLimit: 2,
          groupOnDead: 'hold',
        },
      },
    });
    const first = await project.json(['enqueue', 'double', '{"n": 1}']);
    expect(await work()).toMatchObject({ code: 0 });
    const bySql = await project.enqueue();
    const byLibrary = await queue.enqueue('double', { n: -1 });
    const byShell = await project.json(['enqueue', 'double', '{"n": 1}']);
    for (const id of [first.id, bySql, byLibrary.id, byShell.id]) {
      expect(await queue.get(id)).toMatchObject({ queue: 'q9', priority: 3 });
    }
    expect(await work()).toMatchObject({ code: 0 });
    expect(await queue.get(byLibrary.id)).toMatchObject({ status: 'dead', attempts: 2 });
    const { rows } = await project.client.query(
      'select max_attempts, timeout_ms, expires_ms from taskq.defaults',
    );
    expect(rows).toEqual([{ max_attempts: 9, timeout_ms: '5000', expires_ms: '10800000' }]);
    const { queues } = await project.json(['queues', 'list']);
    expect(queues).toContainEqual(
      expect.objectContaining({
        ...{ name: 'mail', timeout_ms: 7000, errors_retention: '3d', dead_retention: 'ever' },
        max_attempts: null,
      }),
    );
    expect(await mayWait(first.id)).toBe(7200);
    expect(await mayWait(bySql)).toBe(7200);
  });

  test('is overridden by what an operator sets, and the worker logs it', async () => {
    await project.client.query(`select taskq.set_type('double', '{"queue": "ops"}')`);
    await project.client.query(`select taskq.set_defaults('{"max_attempts": 4}')`);
    await project.json(['queues', 'set', 'mail', '--timeout', '8s']);
    const { id } = await project.json(['enqueue', 'double', '{"n": 1}']);
    expect(await queue.get(id)).toMatchObject({ queue: 'ops', priority: 3 });
    const { stdout } = await work();
    const printed = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event === 'setting.overruled');
    expect(printed).toMatchObject([
      { level: 'warn', setting: 'max_attempts', value: 9, other: 4 },
      { level: 'warn', queue: 'mail', setting: 'timeout_ms', value: 7000, other: 8000 },
      { level: 'warn', type: 'double', setting: 'queue', value: 'q9', other: 'ops' },
    ]);
  });

  test('a worker logs a setting that another live worker contradicts', async () => {
    const about = { host: 'h', name: 'other', pid: 1, unique_part: 'u', lease_ms: 60_000, concurrency: 1 };
    await project.client.query('select taskq.register_worker($1)', [
      JSON.stringify({ ...about, types: { double: { max_attempts: 7 } }, defaults: { timeout_ms: 1 } }),
    ]);
    const { stdout } = await work();
    const printed = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ event, setting }) => event === 'setting.disputed' && setting !== 'backoff');
    expect(printed).toMatchObject([
      { setting: 'timeout_ms', value: 5000, other: 1, other_worker: 'other:1:u' },
      { type: 'double', setting: 'expires_ms', value: 7_200_000, other: null, other_worker: 'other:1:u' },
      { type: 'double', setting: 'max_attempts', value: 2, other: 7, other_worker: 'other:1:u' },
      { type: 'double', setting: 'priority', value: 3, other: null, other_worker: 'other:1:u' },
    ]);
  });
});

describe('what an operator sets', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  const backoff = { kind: 'exponential', base_ms: 5000, factor: 3, max_ms: 7_200_000, jitter: 0.1 };
  const text = 'exponential,5s,factor=3,max=2h,jitter=0.1';

  test('a back-off is written alike for a queue, a type, all tasks and one task', async () => {
    expect(await project.json(['queues', 'set', 'mail', '--backoff', text])).toMatchObject({ backoff });
    expect(await project.json(['types', 'set', 'double', '--backoff', text])).toMatchObject({
      settings: { backoff: { value: backoff, from: 'operator' } },
    });
    expect(await project.json(['defaults', 'set', '--backoff', text])).toMatchObject({
      settings: {
        backoff: { value: backoff, from: 'operator' },
        max_attempts: { value: 3, from: 'built in' },
      },
    });
    const { id } = await project.json(['enqueue', 'double', '{}', '--backoff', text]);
    const { rows } = await project.client.query('select backoff from taskq.all_tasks where id = $1', [id]);
    expect(rows).toEqual([{ backoff }]);
    for (const command of [
      ['queues', 'set', 'mail'],
      ['types', 'set', 'double'],
      ['defaults', 'set'],
    ]) {
      expect(await project.run([...command, '--backoff', 'often,5s'])).toMatchObject({
        code: 2,
        stderr: 'taskq: --backoff: kind "often": expected one of fixed, linear, quadratic, exponential\n',
      });
      expect(await project.run(command)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('nothing to set: give an option such as'),
      });
    }
    await project.json(['defaults', 'set', '--backoff', 'default']);
    expect((await project.run(['defaults'])).stdout).toMatch(
      /^SETTING +VALUE +SET BY\n(?:.*\n)*backoff +exponential 5s to 1h +built in\n/,
    );
  });

  test('how long a task may wait is set for a queue, a type and all tasks, listed, and taken away', async () => {
    const ms = { from: 'operator', worker: null };
    await project.json(['types', 'add', 'soon']);
    expect(await project.json(['defaults', 'set', '--expires', '3h'])).toMatchObject({
      settings: { expires_ms: { value: 10_800_000, ...ms } },
    });
    expect(await project.json(['queues', 'set', 'mail', '--expires', '2h'])).toMatchObject({
      expires_ms: 7_200_000,
    });
    expect(await project.json(['types', 'set', 'soon', '--expires', '1h'])).toMatchObject({
      settings: { expires_ms: { value: 3_600_000, ...ms } },
    });
    expect((await project.run(['types'])).stdout).toMatch(/^soon .* 1h .*$/m);
    expect((await project.run(['defaults'])).stdout).toMatch(/^expires +3h +an operator$/m);
    const expiry = async (...options: string[]) => {
      const { id } = await project.json(['enqueue', 'double', '{}', ...options]);
      const { rows } = await project.client.query(
        'select extract(epoch from expires_at - not_before)::integer as wait from taskq.tasks where id = $1',
        [id],
      );
      return rows[0].wait;
    };
    expect(await expiry()).toBe(10_800);
    expect(await expiry('--queue', 'mail')).toBe(7200);
    await project.json(['types', 'set', 'double', '--expires', '30m']);
    expect(await expiry('--queue', 'mail')).toBe(1800);
    expect(await expiry('--expires', '1m')).toBe(60);
    await project.json(['types', 'set', 'double', '--expires', 'default']);
    await project.json(['defaults', 'set', '--expires', 'default']);
    expect(await expiry()).toBeNull();
    expect(await project.run(['defaults', 'set', '--expires', '0s'])).toMatchObject({
      code: 2,
      stderr: 'taskq: --expires "0s": expected more than 0\n',
    });
  });

  test('a type is set, listed with where its tasks go, and removed', async () => {
    const set = await project.run([
      'types',
      'set',
      'report',
      '--queue',
      'slow',
      '--priority',
      'low',
      '--timeout',
      '1m',
    ]);
    expect(set).toMatchObject({ code: 0, stdout: expect.stringMatching(/^timeout +1m +an operator$/m) });
    expect((await project.json(['types'])).types).toContainEqual(
      expect.objectContaining({ name: 'report', queue: 'slow', priority: 3, timeout_ms: 60_000 }),
    );
    expect(await project.run(['types', 'remove', 'report', 'nowhere'])).toMatchObject({
      code: 1,
      stdout: 'report removed\n',
      stderr: 'taskq: nowhere is not known\n',
    });
    expect((await project.run(['enqueue', 'report', '{}'])).code).toBe(2);
  });

  test.each([
    ['3d', 3 * 86_400],
    ['PT90M', 5400],
  ])('--key-for %s holds a key that long', async (period, seconds) => {
    await project.json(['enqueue', 'double', '{}', '--key', period, '--key-for', period]);
    const left =
      'select extract(epoch from until - clock_timestamp())::float as left from taskq.held_keys where key = $1';
    const { rows } = await project.client.query<{ left: number }>(left, [period]);
    expect(Math.ceil(rows[0]!.left / 600) * 600).toBe(seconds);
  });

  test('--key-for something else is refused', async () => {
    expect(await project.run(['enqueue', 'double', '{}', '--key', 'a', '--key-for', 'long'])).toMatchObject({
      code: 2,
      stderr: 'taskq: --key-for "long": expected live, ever, or a duration such as 3d\n',
    });
  });
});
