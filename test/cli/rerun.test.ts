import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProject, type Project } from './project.ts';

describe('taskq rerun', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  /** Tasks that ended. */
  async function finish(...tasks: readonly object[]): Promise<string[]> {
    const ids = [];
    for (const options of tasks) ids.push(await project.enqueue(options));
    await project.json(['cancel', ...ids]);
    return ids;
  }
  const sourcesOf = async (queue: string) => {
    const { tasks } = await project.json(['list', '--queue', queue, '--status', 'pending']);
    return tasks.map(({ source }: { source: string }) => source);
  };

  test('a finished task as a new one; a held key, and what is not finished, are said', async () => {
    const done = await project.enqueue({ queue: 'again', key: 'again' });
    const waiting = await project.enqueue({ queue: 'again', delay_ms: 60_000 });
    await project.run(['work', '--max-tasks', '1', '--quiet', '--queues', 'again']);
    const { code, stdout, stderr } = await project.run(['rerun', done, waiting]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `taskq: task ${waiting} is waiting — run it now: taskq retry ${waiting}\n`,
    });
    const copy = new RegExp(`^${done} runs again as (\\d+)\n$`).exec(stdout)![1]!;
    expect(await project.json(['show', copy])).toMatchObject({
      status: 'pending',
      source: `rerun of ${done}`,
    });
    expect(await project.run(['rerun', done])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `taskq: task ${done} was not run again: task ${copy} holds the key "again"\n`,
    });
  });

  test('the payload, the old one or another, is checked by the schema of the handler', async () => {
    const add = async (payload: object) => {
      const { rows } = await project.client.query<{ id: string }>(
        `select id from taskq.enqueue('send-email', $1, '{"allow_unknown": true}')`,
        [JSON.stringify(payload)],
      );
      await project.json(['cancel', rows[0]!.id]);
      return rows[0]!.id;
    };
    const [good, bad] = [await add({ to: 'ann' }), await add({})];
    const refused = {
      code: 2,
      stderr: expect.stringMatching(/^taskq: the payload does not fit send-email: /),
    };
    expect(await project.run(['rerun', good, bad])).toMatchObject(refused);
    expect(await project.run(['rerun', good, '--payload', '{}'])).toMatchObject(refused);
    const { tasks } = await project.json(['rerun', bad, '--payload', '{"to":"bob"}']);
    expect(tasks).toMatchObject([{ id: bad, answer: 'enqueued' }]);
  });

  test('all that fit, when it is confirmed with their count', async () => {
    const [one, two, three] = await finish(
      { queue: 'bulk', tags: { n: '1' } },
      { queue: 'bulk', tags: { n: '2' } },
      { queue: 'bulk', tags: { n: '2' }, priority: 7 },
    );
    await project.enqueueDead({ queue: 'bulk' });
    expect(await project.run(['rerun', '--queue', 'bulk', '--status', 'cancelled'])).toMatchObject({
      code: 2,
      stderr:
        'taskq: this would run 3 finished tasks again, and there is no terminal to confirm it — add --yes\n',
    });
    expect(await sourcesOf('bulk')).toEqual([]);
    expect(await project.run(['rerun', '--queue', 'bulk', '--tag', 'n=2', '--yes'])).toMatchObject({
      code: 0,
      stdout: '2 tasks enqueued again\n',
      stderr: '',
    });
    expect(await sourcesOf('bulk')).toEqual([`rerun of ${three}`, `rerun of ${two}`]);
    expect(await project.json(['rerun', '--queue', 'bulk', '--before', '1h', '--yes'])).toEqual({
      ...{ enqueued: 0, key_held: 0, invalid_payload: 0, not_finished: 0, refused: 0 },
      tasks: [],
    });
    expect(
      await project.json(['rerun', '--queue', 'bulk', '--tag', 'n=1', '--since', '1h', '--yes']),
    ).toMatchObject({
      enqueued: 1,
    });
    expect(await sourcesOf('bulk')).toContain(`rerun of ${one}`);
    expect(await project.run(['rerun', '--queue', 'nowhere'])).toMatchObject({
      code: 0,
      stdout: 'no task matches\n',
    });
  });

  test('--limit runs the newest of them again', async () => {
    const ids = await finish(...Array.from({ length: 5 }, () => ({ queue: 'some' })));
    expect(await project.run(['rerun', '--queue', 'some', '--limit', '2'])).toMatchObject({
      stderr: expect.stringContaining('this would run 2 finished tasks again'),
    });
    expect(await project.json(['rerun', '--queue', 'some', '--limit', '2', '--yes'])).toMatchObject({
      enqueued: 2,
    });
    expect(await sourcesOf('some')).toEqual([`rerun of ${ids[4]}`, `rerun of ${ids[3]}`]);
  });

  test('a held key, or a payload that does not fit by now, keeps its task alone from running again; exit 1', async () => {
    const { rows } = await project.client.query<{ id: string }>(
      `select id from taskq.enqueue('send-email', '{"to": 7}', '{"queue": "mixed", "allow_unknown": true}')`,
    );
    const misfit = rows[0]!.id;
    await project.json(['cancel', misfit]);
    const [keyed] = await finish({ queue: 'mixed', key: 'mixed' });
    const [free] = await finish({ queue: 'mixed' });
    const holder = await project.enqueue({ queue: 'mixed', key: 'mixed' });
    const { code, stdout, stderr } = await project.run(['rerun', '--queue', 'mixed', '--yes']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '1 task enqueued again\n' });
    expect(stderr.split('\n')).toEqual([
      expect.stringMatching(
        `^taskq: task ${misfit} was not run again: its payload does not fit its type: .*expected text`,
      ),
      `taskq: task ${keyed} was not run again: task ${holder} holds the key "mixed"`,
      '',
    ]);
    expect(await sourcesOf('mixed')).toEqual([`rerun of ${free}`, null]);
  });

  test('one whose payload was made too large by hand is named, and keeps no other from running again', async () => {
    const [large] = await finish({ queue: 'large' });
    const [other] = await finish({ queue: 'large' });
    await project.client.query(
      "update taskq.finished_tasks set payload = to_jsonb(repeat('x', 2000000)) where id = $1",
      [large],
    );
    expect(await project.run(['rerun', '--queue', 'large', '--yes'])).toMatchObject({
      code: 1,
      stdout: '1 task enqueued again\n',
      // After a line of progress, on a busy machine.
      stderr: expect.stringMatching(
        `^(?:2 tasks done\n)?taskq: task ${large} was not run again: its payload is larger than 1 MB; store it elsewhere and enqueue a reference to it\n$`,
      ),
    });
    expect(await sourcesOf('large')).toEqual([`rerun of ${other}`]);
  });

  test('reruns more than a thousand tasks, in pages', async () => {
    await project.client.query(
      `select from taskq.enqueue_many((select jsonb_agg(jsonb_build_object('type', 'double')) from generate_series(1, 1250)),
         '{"queue": "many", "allow_unknown": true}')`,
    );
    await project.json(['cancel', '--queue', 'many', '--yes']);
    expect(await project.json(['rerun', '--queue', 'many', '--yes'])).toMatchObject({ enqueued: 1250 });
    const { rows } = await project.client.query(
      `select cardinality(task_ids) as tasks, count(*)::int from taskq.audit
       where verb = 'rerun' and task_ids && array(select id from taskq.finished_tasks where queue = 'many') group by 1`,
    );
    expect(rows).toEqual(expect.arrayContaining([{ tasks: 100, count: 12 }]));
  });
});
