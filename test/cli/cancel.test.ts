import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProject, type Project } from './project.ts';

describe('taskq cancel', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  test('by id: prints the outcome of each, and exits 1 if one could not be cancelled', async () => {
    const [waiting, dead] = [await project.enqueue(), await project.enqueueDead()];
    const { code, stdout, stderr } = await project.run(['cancel', waiting, dead, '--reason', 'no more']);
    expect(stderr).toBe(`taskq: task ${dead} is a dead letter — discard it: taskq dead discard ${dead}\n`);
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: `${waiting} cancelled\n`,
    });
    const shown = await project.json(['show', waiting]);
    expect(shown).toMatchObject({ status: 'cancelled', cancel_reason: 'no more' });
    expect((await project.run(['show', waiting])).stdout).toMatch(/^cancelled {2}.* by .*: no more$/m);
  });

  test('names the status of a task that has ended, and an unknown id', async () => {
    const id = await project.enqueue();
    await project.run(['cancel', id]);
    expect(await project.run(['cancel', id, '999999'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `taskq: task ${id} was cancelled — nothing is left to cancel
taskq: no task 999999: it never existed, or was deleted by purge, discard or its retention
`,
    });
  });

  test('--wait is refused with a filter', async () => {
    expect(await project.run(['cancel', '--queue', 'bulk', '--wait', '5s', '--yes'])).toMatchObject({
      code: 2,
      stderr: 'taskq: --wait needs the ids of tasks, not a filter\n',
    });
  });

  test("without --wait a running task's worker is asked to cancel it", async () => {
    const id = await project.enqueue({ queue: 'held' });
    await project.client.query(
      `update taskq.tasks set status = 'running', lease_owner = 1, lease_expires_at = now() + interval '1 h' where id = $1`,
      [id],
    );
    expect(await project.run(['cancel', id, '--wait', '0s'])).toMatchObject({
      code: 0,
      stdout: `${id} running; its worker was asked to cancel it\n`,
    });
    const shown = (await project.run(['show', id])).stdout;
    expect(shown).toMatch(/^cancel requested {2}\S+ \S+ \(.*\) by /m);
    expect(shown).not.toMatch(/^cancelled/m);
  });

  test('a running task whose lease has expired: the answer says that no live worker was asked', async () => {
    const id = await project.enqueue({ queue: 'held' });
    await project.client.query(
      `update taskq.tasks set status = 'running', lease_owner = 1, lease_expires_at = now() - interval '1 h' where id = $1`,
      [id],
    );
    expect(await project.run(['cancel', id, '--wait', '0s'])).toMatchObject({
      code: 0,
      stdout: `${id} running; no live worker holds it: it is cancelled when a worker rescues it\n`,
    });
  });

  test('says how many running tasks it waits for, and exits 4 if they still run at the end', async () => {
    const ids = [await project.enqueue({ queue: 'slow' }), await project.enqueue({ queue: 'slow' })];
    await project.client.query(
      `update taskq.tasks set status = 'running', lease_owner = 1, lease_expires_at = now() + interval '1 h' where id = any ($1)`,
      [ids],
    );
    const { code, stderr } = await project.run(['cancel', ...ids, '--wait', '6500ms']);
    expect(code).toBe(4);
    expect(stderr).toContain('asked, waiting for 2 tasks to end\n');
    expect(stderr).not.toMatch(/waiting for [01] task/);
  });

  test('asks for no confirmation if no task matches', async () => {
    expect(await project.run(['cancel', '--type', 'nosuch'])).toMatchObject({
      code: 0,
      stdout: 'no task matches\n',
      stderr: '',
    });
    expect(await project.json(['cancel', '--type', 'nosuch'])).toEqual({
      cancelled: 0,
      requested: 0,
      not_live: 0,
    });
  });

  test('cancels all matching tasks with --yes', async () => {
    for (let n = 0; n < 3; n += 1) await project.enqueue({ queue: 'bulk', tags: { n: String(n % 2) } });
    expect(await project.json(['cancel', '--queue', 'bulk', '--tag', 'n=0', '--yes'])).toEqual({
      cancelled: 2,
      requested: 0,
      not_live: 0,
    });
    expect(await project.run(['cancel', '--queue', 'bulk', '--type', 'double', '--yes'])).toMatchObject({
      code: 0,
      stdout: 'cancelled 1 task\n',
    });
  });
});
