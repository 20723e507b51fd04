import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';
import { createProject, type Project } from './project.ts';

let project: Project;
beforeAll(async () => {
  project = await createProject();
  await project.run(['queues', 'set', 'default', '--record-events']);
  await project.run(['queues', 'set', 'mail', '--record-events']);
});
afterAll(() => project.drop());
afterEach(killStartedTaskqs);

async function end(options: object = {}): Promise<string> {
  const id = await project.enqueue({ delay_ms: 3_600_000, ...options });
  await project.run(['cancel', id, '--reason', 'not\nwanted']);
  return id;
}

interface Event {
  readonly id: string;
  readonly position: string;
}

const eventsOf = (stdout: string): Event[] =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Event);

test('prints what has ended, as lines or as objects, and goes on after a position', async () => {
  const id = await end({ queue: 'mail', tags: { a: 'b' } });
  const other = await end();
  expect(await project.run(['events'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}\d+ {2}mail {2}double {2}cancelled: not wanted\n.* {2}default {2}.*\n$/,
    ),
    stderr: '',
  });
  const all = eventsOf((await project.run(['events', '--json'])).stdout);
  expect(all).toMatchObject([{ id, queue: 'mail', status: 'cancelled', tags: { a: 'b' } }, { id: other }]);
  const rest = await project.run(['events', '--json', '--after', all[0]!.position]);
  expect(eventsOf(rest.stdout).map((event) => event.id)).toEqual([other]);
  expect(await project.run(['events', '--after', 'now'])).toMatchObject({ code: 0, stdout: '' });
  expect(await project.run(['events', '--after', 'yesterday'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('--after "yesterday": expected the position of an event'),
  });
  const elsewhere = await project.run(['events', '--json', '--after', all[0]!.position.replace(/^\d+/, '1')]);
  expect(JSON.parse(elsewhere.stderr)).toMatchObject({ error: { code: 'events_lost' } });
});

test('--follow prints what ends later, until it is stopped', async () => {
  // Sessions of the commands before may still be there.
  const pids = async (asking: string) => {
    const { rows } = await project.client.query<{ pid: number }>(
      'select pid from pg_stat_activity where datname = current_database() and query like $1',
      [asking],
    );
    return rows.map(({ pid }) => pid);
  };
  const before = await pids('%');
  const following = startTaskq(['events', '--follow', '--json', '--after', 'now'], {
    env: { DATABASE_URL: project.url },
  });
  // It has read where it begins once its session has asked for the first page.
  while ((await pids('%events_after($1%')).every((pid) => before.includes(pid)));
  const id = await end();
  expect(await following.waitForLog((line) => line.id === id)).toMatchObject({ status: 'cancelled' });
  following.kill('SIGINT');
  expect(await following.exit).toMatchObject({ code: 130 });
});

test('without a queue that records events it names the setting', async () => {
  const all = ['default', 'mail'];
  for (const queue of all) await project.run(['queues', 'set', queue, '--record-events', 'default']);
  expect(await project.run(['events', '--after', 'now'])).toMatchObject({
    code: 0,
    stdout: '',
    stderr: 'no queue records events: see taskq queues set --record-events\n',
  });
});
