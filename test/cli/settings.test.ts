import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TaskQueue } from '../../src/queue/task-queue.ts';
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

  test('counts for every producer once a worker has started with it', async () => {
    await configure({
      ...{ maxAttempts: 9, timeout: '5s' },
      taskTypes: {
        double: { queue: 'q9', priority: 'low', backoff: { kind: 'fixed', base: 0 }, maxAttempts: 2 },
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
    const { rows } = await project.client.query('select max_attempts, timeout_ms from taskq.defaults');
    expect(rows).toEqual([{ max_attempts: 9, timeout_ms: '5000' }]);
  });

  test('yields to what an operator has set, in the shell too, and the worker says so', async () => {
    await project.client.query(`select taskq.set_type('double', '{"queue": "ops"}')`);
    await project.client.query(`select taskq.set_defaults('{"max_attempts": 4}')`);
    const { id } = await project.json(['enqueue', 'double', '{"n": 1}']);
    expect(await queue.get(id)).toMatchObject({ queue: 'ops', priority: 3 });
    const { stdout } = await work();
    const told = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event === 'setting.overruled');
    expect(told).toMatchObject([
      { level: 'warn', setting: 'max_attempts', value: 9, other: 4 },
      { level: 'warn', type: 'double', setting: 'queue', value: 'q9', other: 'ops' },
    ]);
  });

  test('is told where another live worker says otherwise', async () => {
    const about = { host: 'h', name: 'other', pid: 1, unique_part: 'u', lease_ms: 60_000, concurrency: 1 };
    await project.client.query('select taskq.register_worker($1)', [
      JSON.stringify({ ...about, types: { double: { max_attempts: 7 } }, defaults: { timeout_ms: 1 } }),
    ]);
    const { stdout } = await work();
    const told = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ event, setting }) => event === 'setting.disputed' && setting !== 'backoff');
    expect(told).toMatchObject([
      { setting: 'timeout_ms', value: 5000, other: 1, other_worker: 'other:1:u' },
      { type: 'double', setting: 'max_attempts', value: 2, other: 7, other_worker: 'other:1:u' },
      { type: 'double', setting: 'priority', value: 3, other: null, other_worker: 'other:1:u' },
    ]);
  });
});
