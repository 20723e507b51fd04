import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProject, type Project } from './project.ts';

describe('taskq edit', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  const placesOf = async (...filter: string[]) => {
    const { tasks } = await project.json(['list', ...filter]);
    return tasks.map(({ id, queue, priority }: { id: string; queue: string; priority: number }) => [
      id,
      queue,
      priority,
    ]);
  };

  test('changes tasks by id; what was before is in the record', async () => {
    const id = await project.enqueue({ queue: 'one', priority: 3 });
    const changes = ['--payload', '{"n":7}', '--at', '2999-01-31T09:00:00Z'];
    expect(
      await project.run([
        'edit',
        id,
        ...changes,
        '--to-priority',
        'high',
        '--to-queue',
        'two',
        '--by',
        'ann',
      ]),
    ).toEqual(expect.objectContaining({ code: 0, stdout: 'changed 1 task\n', stderr: '' }));
    expect(await project.json(['show', id])).toMatchObject({
      ...{ payload: { n: 7 }, priority: 1, queue: 'two' },
      available_at: expect.stringMatching(/^2999-01-31T09:00:00/),
    });
    const { actions } = await project.json(['audit', '--task', id]);
    expect(actions).toMatchObject([
      { verb: 'edit', by: 'ann', before: { [id]: { queue: 'one', priority: 3 } }, settings: { priority: 1 } },
    ]);
    expect((await project.run(['audit', '--task', id])).stdout).toContain('queue one → two');
    await project.json(['edit', id, '--delay', '0s']);
    expect(await project.json(['explain', id])).not.toMatchObject({ causes: [{ cause: 'delayed' }] });
  });

  test('says which tasks it did not change, and why, and exits 1', async () => {
    const [mover, holder] = [
      await project.enqueue({ key: 'k' }),
      await project.enqueue({ key: 'k', queue: 'held' }),
    ];
    const [dead, brief] = [await project.enqueueDead(), await project.enqueue({ expires_ms: 60_000 })];
    const moved = await project.run(['edit', mover, dead, '--to-queue', 'held']);
    expect({ code: moved.code, stderr: moved.stderr }).toEqual({
      code: 1,
      stderr: [
        `taskq: task ${mover} was not changed: task ${holder} holds its key "k" in that queue\n`,
        `taskq: task ${dead} is a dead letter — revive it: taskq dead revive ${dead} --payload <json>\n`,
      ].join(''),
    });
    const { code, stderr } = await project.run(['edit', brief, '--delay', '1h']);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      new RegExp(`^taskq: task ${brief} was not changed: it would expire before that, at [-0-9T:]+Z\n$`),
    );
    const other = await project.connect();
    await other.query('begin');
    await other.query('select from taskq.tasks where id = $1 for update', [brief]);
    expect(await project.run(['edit', brief, '--to-priority', '1'])).toMatchObject({
      code: 1,
      stderr: `taskq: task ${brief} was not changed: another transaction keeps it locked — try again\n`,
    });
    await other.query('rollback');
  });

  test('changes all that fit, when it is confirmed with their count', async () => {
    const ids = [];
    for (const n of ['1', '2', '2']) ids.push(await project.enqueue({ queue: 'bulk', tags: { n } }));
    expect(await project.run(['edit', '--queue', 'bulk', '--to-queue', 'other'])).toMatchObject({
      code: 2,
      stderr: 'taskq: this would change 3 tasks, and there is no terminal to confirm it — add --yes\n',
    });
    expect(
      await project.run(['edit', '--queue', 'bulk', '--tag', 'n=2', '--to-queue', 'other', '--yes']),
    ).toMatchObject({ code: 0, stdout: 'changed 2 tasks\n' });
    expect(await placesOf('--queue', 'bulk')).toEqual([[ids[0], 'bulk', 2]]);
    expect(await placesOf('--queue', 'other')).toEqual([
      [ids[2], 'other', 2],
      [ids[1], 'other', 2],
    ]);
  });

  test('checks a payload by the schema of the handler, before it changes anything', async () => {
    const { rows } = await project.client.query<{ id: string }>(
      `select id from taskq.enqueue('send-email', '{"to": "ann"}', '{"allow_unknown": true, "queue": "mail"}')`,
    );
    const refused = {
      code: 2,
      stderr: expect.stringMatching(/^taskq: the payload does not fit send-email: /),
    };
    for (const which of [[rows[0]!.id], ['--queue', 'mail', '--yes']])
      expect(await project.run(['edit', ...which, '--payload', '{}'])).toMatchObject(refused);
    expect(await project.json(['show', rows[0]!.id])).toMatchObject({ payload: { to: 'ann' } });
    expect(await project.run(['edit', rows[0]!.id, '--payload', '{"to":"bob"}'])).toMatchObject({ code: 0 });
  });

  test.each([
    [['1'], 'nothing to change: give --payload, --delay, --at, --to-priority, --to-queue'],
    [['1', '--delay', '1s', '--at', '2999-01-31T09:00:00Z'], 'give either --at or --delay, not both'],
    [['1', '--to-priority', '10'], '--to-priority "10": expected'],
    [['1', '--to-queue', ''], '--to-queue "": expected'],
    [['1', '--payload', '{'], 'invalid JSON'],
    [['--status', 'running', '--to-priority', '1'], '--status: only waiting tasks can be edited'],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await project.run(['edit', ...args]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
  });
});
