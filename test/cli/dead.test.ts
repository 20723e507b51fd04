import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProject, type Project } from './project.ts';

describe('taskq dead', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  const live = async (id: string) =>
    (await project.client.query('select * from taskq.tasks where id = $1', [id])).rows[0];

  test('list: id, type, queue, attempts, reason, error, payload cut, when it died', async () => {
    const id = await project.enqueueDead({ queue: 'listed' });
    await project.client.query(`update taskq.dead_tasks set payload = $2, error = $3 where id = $1`, [
      id,
      JSON.stringify({ text: 'x'.repeat(500) }),
      JSON.stringify({ name: 'RangeError', message: 'boom\nbang' }),
    ]);
    const { stdout } = await project.run(['dead', 'list', '--queue', 'listed']);
    const [head, row, ...rest] = stdout.trimEnd().split('\n');
    expect(head!.trim().split(/ +/)).toEqual([
      'ID',
      'TYPE',
      'QUEUE',
      'ATTEMPTS',
      'REASON',
      'ERROR',
      'PAYLOAD',
      'DIED',
    ]);
    expect(row).toMatch(/ attempts_spent {2}RangeError: boom bang {2}\{"text":"x{60,80}… {2}/);
    expect(row!.length).toBeLessThan(200);
    expect(rest).toEqual([]);
    const { tasks } = await project.json([
      'dead',
      'list',
      '--reason',
      'attempts_spent',
      '--type',
      'double',
      '--since',
      '1h',
    ]);
    expect(tasks[0]).toMatchObject({
      id,
      payload: { text: 'x'.repeat(500) },
      died_at: expect.stringMatching(/^\d{4}-/),
    });
    expect((await project.json(['dead', 'list', '--reason', 'other'])).tasks).toEqual([]);
  });

  test('show: a dead letter; another task is refused with its status', async () => {
    const [dead, waiting] = [await project.enqueueDead(), await project.enqueue()];
    expect(await project.json(['dead', 'show', dead])).toMatchObject({
      id: dead,
      status: 'dead',
      errors: [],
    });
    expect(await project.run(['dead', 'show', waiting])).toMatchObject({
      code: 1,
      stderr: `taskq: task ${waiting} is no dead letter, it is pending — see taskq show ${waiting}\n`,
    });
  });

  test('revive by id: same id, attempts anew, another payload, delay and budget', async () => {
    const id = await project.enqueueDead();
    const args = ['dead', 'revive', id, '--payload', '{"n": 2.50}', '--delay', '1h', '--max-attempts', '9'];
    expect(await project.run(args)).toMatchObject({ code: 0, stdout: `${id} revived\n`, stderr: '' });
    expect(await live(id)).toMatchObject({ attempts: 0, payload: { n: 2.5 }, max_attempts: 9 });
  });

  test('revive: a held key refuses that one by name, and not the rest', async () => {
    const options = { queue: 'keyed', key: 'k' };
    const refused = await project.enqueueDead(options);
    const other = await project.enqueueDead({ queue: 'keyed' });
    const holder = await project.enqueue(options);
    const { code, stdout, stderr } = await project.run(['dead', 'revive', '--queue', 'keyed']);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: 'revived 1 task\n',
      stderr: `taskq: task ${refused} stays dead: task ${holder} holds its key "k"\n`,
    });
    expect(await live(other)).toBeDefined();
  });

  test('revive: one that is not dead is named with what it is, and a waiting one with its own verb; exit 1', async () => {
    const [waiting, running, done] = [
      await project.enqueue(),
      await project.enqueue(),
      await project.enqueue(),
    ];
    await project.client.query(
      `update taskq.tasks set status = 'running', lease_owner = 1, lease_expires_at = now() + interval '1 h' where id = $1`,
      [running],
    );
    await project.run(['cancel', done]);
    expect(await project.run(['dead', 'revive', waiting, running, done, '999999'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `taskq: task ${waiting} waits for its turn — retry it: taskq retry ${waiting}
taskq: task ${running} is running
taskq: task ${done} was cancelled
taskq: no task 999999: it never existed, was purged, or outlived its retention
`,
    });
  });

  test('revive --all leaves out what was added by hand', async () => {
    const [byHand, own] = [
      await project.enqueue({ queue: 'hand' }),
      await project.enqueueDead({ queue: 'hand' }),
    ];
    expect(await project.run(['dead', 'add', byHand, '--reason', 'parked'])).toMatchObject({
      code: 0,
      stdout: `${byHand} is a dead letter: parked\n`,
    });
    expect(await project.json(['dead', 'revive', '--all', '--queue', 'hand'])).toMatchObject({ revived: 1 });
    expect(await live(own)).toBeDefined();
    expect(await project.json(['dead', 'revive', byHand])).toMatchObject({ revived: 1 });
  });

  test('add: another reason for a dead one; a finished one is refused', async () => {
    const id = await project.enqueueDead();
    expect(await project.json(['dead', 'add', id, '--reason', 'waits for ann'])).toEqual({
      id,
      status: 'dead',
      reason: 'waits for ann',
    });
    expect(await project.run(['dead', 'add', '999999', '--reason', 'x'])).toMatchObject({
      code: 1,
      stderr: 'taskq: task 999999 is finished, or was never there\n',
    });
  });

  test('discard with --yes deletes for good', async () => {
    const id = await project.enqueueDead({ queue: 'gone' });
    expect(await project.run(['dead', 'discard', id, '--yes'])).toMatchObject({
      code: 0,
      stdout: 'discarded 1 task\n',
    });
    await project.enqueueDead({ queue: 'gone' });
    expect(await project.json(['dead', 'discard', '--queue', 'gone', '--yes'])).toMatchObject({
      discarded: 1,
    });
    const waiting = await project.enqueue();
    expect(await project.run(['dead', 'discard', id, waiting, '--yes'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `taskq: no task ${id}: it never existed, was purged, or outlived its retention
taskq: task ${waiting} waits for its turn — cancel it: taskq cancel ${waiting}
`,
    });
  });
});
