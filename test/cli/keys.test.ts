import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProject, type Project } from './project.ts';

describe('taskq keys', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  const hold = async (key: string, keyFor: string) =>
    (await project.json(['enqueue', 'double', '{"n": 1}', '--key', key, '--key-for', keyFor])).id as string;

  test('a key that outlives its task is listed, shown and freed, once, with who did it', async () => {
    const id = await hold('a', 'ever');
    await hold('b', '3d');
    await project.run(['work', '--until-idle', '--quiet', '--poll', '50ms']);
    expect(await project.json(['keys'])).toMatchObject({
      keys: [
        { key: 'a', queue: 'default', task_id: id, until: null, status: 'completed' },
        { key: 'b', until: expect.stringMatching(/^\d{4}-/) },
      ],
    });
    expect((await project.run(['keys'])).stdout).toMatch(
      /^KEY +QUEUE +UNTIL +TASK +STATUS\na +default +ever +/,
    );
    expect(await project.run(['keys', 'show', 'a'])).toMatchObject({
      code: 0,
      stdout: `task ${id} holds it forever\n`,
    });
    expect(await hold('a', 'live')).toBe(id);
    expect(await project.run(['keys', 'release', 'a', 'c', '--by', 'ann'])).toMatchObject({
      code: 1,
      stdout: 'a is free\n',
      stderr: 'taskq: c is not held\n',
    });
    expect(await project.run(['keys', 'show', 'a'])).toMatchObject({ code: 1 });
    expect(await hold('a', 'live')).not.toBe(id);
    const actions = "select by, settings, task_ids from taskq.audit where verb = 'release key'";
    expect((await project.client.query(actions)).rows).toEqual([
      { by: 'ann', settings: { key: 'a' }, task_ids: [id] },
    ]);
  });

  test('of a live task only the period is ended: the key is free when the task has ended', async () => {
    const id = await hold('living', 'ever');
    expect(await project.run(['keys', 'release', 'living'])).toMatchObject({
      code: 0,
      stdout: 'living becomes free when its task ends\n',
    });
    expect(await project.json(['keys', 'show', 'living'])).toMatchObject({ task_id: id, until: 'its_end' });
    expect(await hold('living', 'live')).toBe(id);
    await project.run(['cancel', id]);
    expect(await hold('living', 'live')).not.toBe(id);
  });

  test('purge and discard say which keys are still held, and how to free them', async () => {
    const id = await hold('purged', 'ever');
    const dead = await project.enqueueDead({ key: 'discarded', queue: 'q', key_for: '2d' });
    await project.run(['cancel', id]);
    expect(await project.run(['purge', id, '--yes'])).toMatchObject({
      code: 0,
      stderr: `task ${id} still holds its key "purged" forever: taskq keys release --queue default "purged"\n`,
    });
    expect((await project.run(['dead', 'discard', '--queue', 'q', '--yes'])).stderr).toMatch(
      new RegExp(
        `^task ${dead} still holds its key "discarded" until \\S+ \\S+: taskq keys release --queue q "discarded"\n$`,
      ),
    );
    expect(await project.json(['keys', 'list', '--queue', 'q'])).toMatchObject({ keys: [{ status: null }] });
  });
});
