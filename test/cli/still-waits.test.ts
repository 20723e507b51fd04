import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sessionOf } from '../queue/session.ts';
import { registerWorker } from '../queue/worker.ts';
import { createProject, type Project } from './project.ts';

const LATER = { delay_ms: 3_600_000 };

describe('a verb that makes a task due says why it waits all the same', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
    await project.run(['queues', 'pause', 'mail', '--reason', 'deploy', '--by', 'ann']);
    await project.run(['groups', 'pause', 'default', 'acme', '--reason', 'bad data', '--by', 'ann']);
  });
  afterAll(() => project.drop());

  const PAUSED = /queue mail is paused .*ann.*: deploy/;

  test('retry, in a paused queue', async () => {
    const id = await project.enqueue({ ...LATER, queue: 'mail' });
    const { code, stdout, stderr } = await project.run(['retry', id]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${id} retried: it is due now\n` });
    expect(stderr).toMatch(PAUSED);
    expect(stderr).toMatch(new RegExp(`^task ${id} waits: `));
    expect(await project.run(['retry', id, '--quiet'])).toMatchObject({ stderr: '' });
  });

  test('dead revive, of a paused group, by filter', async () => {
    const ids = [1, 2, 3];
    for (const n of ids)
      ids[n - 1] = Number(await project.enqueueDead({ group: 'acme', tags: { n: String(n) } }));
    const { stdout, stderr } = await project.run(['dead', 'revive', '--group', 'acme']);
    expect(stdout).toBe('revived 3 tasks\n');
    expect(stderr).toMatch(/^task \d+ and 2 more wait: group acme is paused .*ann.*: bad data\n$/);
  });

  test('rerun, under the id of the new task', async () => {
    const id = await project.enqueue({ queue: 'mail' });
    await project.run(['cancel', id]);
    const { stdout, stderr } = await project.run(['rerun', id]);
    const again = /as (\d+)/.exec(stdout)![1];
    expect(stderr).toMatch(new RegExp(`^task ${again} waits: ${PAUSED.source}`));
    const many = await project.run(['rerun', '--queue', 'mail', '--yes']);
    expect(many.stderr).toMatch(PAUSED);
  });

  test('edit, into a queue that no worker serves; a queue without any worker is not worth a word', async () => {
    const id = await project.enqueue();
    expect(await project.run(['edit', id, '--to-queue', 'slow'])).toMatchObject({
      stdout: 'changed 1 task\n',
      stderr: '',
    });
    const worker = await registerWorker(sessionOf(project.client), { double: {} });
    await project.client.query(
      "update taskq.workers set queues = '{default}', lease_ms = 86400000 where id = $1",
      [worker.id],
    );
    expect(await project.run(['edit', id, '--to-queue', 'slower'])).toMatchObject({
      stdout: 'changed 1 task\n',
      stderr: `task ${id} waits: no worker serves queue slower\n`,
    });
  });

  test('enqueue, of a group too, alone or from a file', async () => {
    const one = await project.run(['enqueue', 'double', '{}', '--group', 'acme', '--allow-unknown']);
    expect(one.stderr).toMatch(/^task \d+ waits: group acme is paused .*: bad data\n$/);
    const inQueue = [
      'enqueue',
      'double',
      '--queue',
      'mail',
      '--group',
      'g',
      '--allow-unknown',
      '--file',
      '-',
    ];
    const many = await project.run(inQueue, { input: '{}\n{}\n{}\n' });
    expect(many.stdout).toBe('enqueued 3 tasks\n');
    expect(many.stderr).toMatch(/^task \d+ and at least 1 more wait: queue mail is paused /);
    expect((await project.run(inQueue, { input: '{}' })).stderr).toMatch(/^task \d+ waits: queue mail is/);
  });

  test('enqueue --wait, of a full group', async () => {
    await project.run(['groups', 'set', 'default', 'full', '--limit', '1']);
    await project.run(['enqueue', 'double', '{}', '--group', 'full', '--allow-unknown']);
    await project.client.query(
      "update taskq.tasks set gate = 'h', status = 'pending', available_at = now() where group_key = 'full'",
    );
    const quick = ['enqueue', 'double', '{}', '--group', 'full', '--allow-unknown'];
    expect((await project.run(quick)).stderr).toBe('');
    const { code, stderr } = await project.run([...quick, '--wait', '100ms']);
    expect(code).toBe(4);
    expect(stderr).toMatch(/task \d+ waits: group full has 1 slot, taken by task \d+/);
  });

  test('retry of one that was due already, and schedule run', async () => {
    const id = await project.enqueue({ queue: 'mail' });
    const { stdout, stderr } = await project.run(['retry', id]);
    expect(stdout).toBe(`${id} was due already\n`);
    expect(stderr).toMatch(PAUSED);
    await project.run([
      'schedule',
      'add',
      'tick',
      '@every 1h',
      'double',
      '--queue',
      'mail',
      '--allow-unknown',
    ]);
    expect((await project.run(['schedule', 'run', 'tick'])).stderr).toMatch(PAUSED);
  });

  test('workflow run and workflow show, of a step in a paused queue', async () => {
    const flow = { name: 'f', steps: [{ step: 'a', type: 'double', queue: 'mail' }] };
    const started = await project.run(['workflow', 'run', '-'], { input: JSON.stringify(flow) });
    expect(started.stderr).toMatch(PAUSED);
    expect((await project.run(['workflow', 'show', started.stdout.trim()])).stderr).toMatch(PAUSED);
  });

  test('of more than ten, ten are looked at', async () => {
    await project.client.query(
      `select from taskq.enqueue_many((select jsonb_agg(jsonb_build_object('type', 'double')) from generate_series(1, 30)),
         '{"queue": "mail", "delay_ms": 3600000, "allow_unknown": true, "tags": {"of": "many"}}')`,
    );
    const { stdout, stderr } = await project.run(['retry', '--tag', 'of=many']);
    expect(stdout).toBe('retried 30 tasks\n');
    expect(stderr).toMatch(/^task \d+ and at least 9 more wait: queue mail is paused/);
  });

  test('a role that may act and not look is told nothing of it', async () => {
    const id = await project.enqueue({ ...LATER, queue: 'mail' });
    const url = await project.callerUrl();
    const caller = /caller_\w+/.exec(url)![0];
    await project.client.query(`revoke execute on function taskq.explain(bigint) from public, ${caller}`);
    expect(await project.run(['retry', id], { env: { DATABASE_URL: url } })).toMatchObject({
      code: 0,
      stdout: `${id} retried: it is due now\n`,
      stderr: '',
    });
  });
});
