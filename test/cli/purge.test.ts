import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProject, type Project } from './project.ts';

describe('taskq purge', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  /** A task that ended. */
  async function enqueueEnded(): Promise<string> {
    const id = await project.enqueue();
    await project.run(['cancel', id]);
    return id;
  }

  test('erases finished tasks with their history', async () => {
    const ids = [await enqueueEnded(), await enqueueEnded()];
    expect(await project.run(['purge', ...ids, '--yes'])).toMatchObject({
      code: 0,
      stdout: 'purged 2 tasks\n',
      stderr: '',
    });
    expect(await project.run(['show', ids[0]!])).toMatchObject({ code: 1 });
  });

  test('asks for confirmation, and needs --yes without a terminal', async () => {
    const id = await enqueueEnded();
    expect(await project.run(['purge', id, id])).toMatchObject({
      code: 2,
      stderr:
        'taskq: this would permanently delete 1 finished task, and there is no terminal to confirm it — add --yes\n',
    });
    expect(await project.json(['show', id])).toMatchObject({ status: 'cancelled' });
  });

  test('asks for no confirmation if no task matches, or none of the named ones has finished', async () => {
    expect(await project.run(['purge', '--type', 'nosuch'])).toMatchObject({
      code: 0,
      stdout: 'no task matches\n',
      stderr: '',
    });
    const waiting = await project.enqueue();
    expect(await project.run(['purge', waiting])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `taskq: task ${waiting} is waiting — cancel it first: taskq cancel ${waiting}\n`,
    });
  });

  test('--before purges tasks that finished before that time; --limit caps their number', async () => {
    const [old, older, fresh] = [await enqueueEnded(), await enqueueEnded(), await enqueueEnded()];
    await project.client.query(
      `update taskq.finished_tasks set finished_at = now() - interval '31 days' where id = any ($1)`,
      [[old, older]],
    );
    await project.client.query(
      `update taskq.finished_tasks set created_at = now() - interval '31 days' where id = $1`,
      [fresh],
    );
    const aged = ['purge', '--before', '30d'];
    expect(await project.run(aged)).toMatchObject({
      stderr: expect.stringContaining('permanently delete 2 finished tasks'),
    });
    expect(await project.json([...aged, '--limit', '1', '--yes'])).toMatchObject({ purged: 1 });
    expect(await project.run(['show', older])).toMatchObject({ code: 1 });
    expect(await project.json([...aged, '--yes'])).toMatchObject({ purged: 1 });
    expect(await project.run(['show', old])).toMatchObject({ code: 1 });
    expect(await project.json(['show', fresh])).toMatchObject({ status: 'cancelled' });
  });

  test('names unfinished tasks with the verb to use instead, purges the rest, and exits 1', async () => {
    const [ended, waiting, dead] = [
      await enqueueEnded(),
      await project.enqueue(),
      await project.enqueueDead(),
    ];
    expect(await project.run(['purge', ended, waiting, dead, '999999', '--yes'])).toMatchObject({
      code: 1,
      stdout: 'purged 1 task\n',
      stderr: `taskq: task ${waiting} is waiting — cancel it first: taskq cancel ${waiting}
taskq: task ${dead} is a dead letter — discard it: taskq dead discard ${dead}
taskq: no task 999999: it never existed, or was deleted by purge, discard or its retention
`,
    });
    expect(await project.json(['show', dead])).toMatchObject({ status: 'dead' });
  });
});
