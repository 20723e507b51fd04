import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProject, type Project } from './project.ts';

describe('taskq retry', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  const LATER = { delay_ms: 3_600_000 };
  const isDue = async (id: string) =>
    (
      await project.client.query<{ due: boolean }>(
        'select available_at <= clock_timestamp() as due from taskq.tasks where id = $1',
        [id],
      )
    ).rows[0]!.due;
  /** Lets it wait after this many failed attempts. */
  const fail = (id: string) =>
    project.client.query('update taskq.tasks set attempts = 2 where id = $1', [id]);

  test('by id: a waiting one is due now, one that is due says so, exit 0', async () => {
    const [later, due] = [await project.enqueue(LATER), await project.enqueue()];
    expect(await project.run(['retry', later, due])).toMatchObject({
      code: 0,
      stdout: `${later} retried: it is due now\n${due} was due already\n`,
      stderr: '',
    });
    expect(await isDue(later)).toBe(true);
  });

  test('names tasks that are not pending with their status, and dead letters with the verb for them; exit 1', async () => {
    const [dead, done, running, later] = [
      await project.enqueueDead(),
      await project.enqueue(),
      await project.enqueue(),
      await project.enqueue(LATER),
    ];
    await project.run(['cancel', done]);
    await project.client.query(
      `update taskq.tasks set status = 'running', lease_owner = 1, lease_expires_at = now() + interval '1 h' where id = $1`,
      [running],
    );
    expect(await project.run(['retry', dead, done, running, later, '999999'])).toMatchObject({
      code: 1,
      stdout: `${later} retried: it is due now\n`,
      stderr: `taskq: task ${dead} is a dead letter — revive it: taskq dead revive ${dead}
taskq: task ${done} was cancelled — run it again: taskq rerun ${done}, or a step with its workflow: taskq workflow retry
taskq: task ${running} is running
taskq: no task 999999: it never existed, or was deleted by purge, discard or its retention
`,
    });
  });

  test('all that fit: of a type, of a queue, only those that failed', async () => {
    const fresh = await project.enqueue({ ...LATER, queue: 'bulk' });
    const failed = await project.enqueue({ ...LATER, queue: 'bulk' });
    const elsewhere = await project.enqueue({ ...LATER, queue: 'other' });
    await fail(failed);
    await fail(elsewhere);
    expect(await project.json(['retry', '--queue', 'bulk', '--failed'])).toEqual({
      retried: 1,
      due: 0,
      not_waiting: 0,
    });
    expect([await isDue(fresh), await isDue(failed), await isDue(elsewhere)]).toEqual([false, true, false]);
    expect(await project.run(['retry', '--queue', 'bulk'])).toMatchObject({
      code: 0,
      stdout: 'retried 1 task, 1 was due already\n',
    });
    await project.json(['retry', '--type', 'double', '--failed']);
    expect(await isDue(elsewhere)).toBe(true);
  });

  test('retries more than a thousand tasks, in pages', async () => {
    await project.client.query(
      `select from taskq.enqueue_many((select jsonb_agg(jsonb_build_object('type', 'double')) from generate_series(1, 2500)),
         '{"queue": "many", "delay_ms": 3600000, "allow_unknown": true}')`,
    );
    expect(await project.json(['retry', '--queue', 'many'])).toMatchObject({ retried: 2500 });
  });

  test.each([
    [
      [],
      'give either ids of tasks or a filter: --failed, --type, --queue, --tag, --key, --group, --workflow, --priority, --where, --since, --before or --all',
    ],
    [
      ['1', '--failed'],
      'give either ids of tasks or a filter: --failed, --type, --queue, --tag, --key, --group, --workflow, --priority, --where, --since, --before or --all',
    ],
    [['one'], 'id "one": expected the number of a task, such as 12'],
  ])('taskq retry %j asks for what it needs, exit 2', async (args, expected) => {
    expect(await project.run(['retry', ...args])).toMatchObject({ code: 2, stderr: `taskq: ${expected}\n` });
  });
});
