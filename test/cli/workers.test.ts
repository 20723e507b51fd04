import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProject, type Project } from './project.ts';

describe('taskq workers', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  /** A row as a worker makes it when it starts; the process itself is not there. */
  async function register(name: string, about: object = {}): Promise<string> {
    const { rows } = await project.client.query<{ worker_id: number }>(
      'select worker_id from taskq.register_worker($1)',
      [
        {
          ...{ host: name, pid: 7, unique_part: 'ab12', version: '1.2.3', concurrency: 8, lease_ms: 600_000 },
          ...{ poll_ms: 1000, types: { double: {} }, queues: null, ...about },
        },
      ],
    );
    return String(rows[0]!.worker_id);
  }

  const ended = (id: string) => project.client.query('select taskq.unregister_worker($1)', [id]);

  test('without one it says how to start one', async () => {
    expect(await project.run(['workers'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'no workers; start one with taskq work\n',
    });
  });

  test('lists what each does, and with --all those that have ended', async () => {
    const [gone, live] = [await register('gone'), await register('live', { queues: ['a', 'b'] })];
    await ended(gone);
    const rows = async (...args: string[]) =>
      (await project.run(['workers', ...args])).stdout.trimEnd().split('\n').slice(1);
    expect((await project.run(['workers'])).stdout.split('\n')[0]).toMatch(
      /^ *ID +WORKER +STATUS +RUNS +AHEAD +POLL +QUEUES +TYPES +STARTED +HEARTBEAT +VERSION$/,
    );
    expect(await rows()).toEqual([
      expect.stringMatching(
        new RegExp(`^ *${live} +live:7:ab12 +live +0/8 +0 +1s +a,b +double .* 1\\.2\\.3$`),
      ),
    ]);
    expect(await rows('--all')).toEqual([
      expect.stringMatching(/ live /),
      expect.stringMatching(/ gone:7:ab12 +stopped (now|\d+s ago) +- +- /),
    ]);
    expect(await project.run(['workers', '--all', '--limit', '1'])).toMatchObject({
      stderr: `there are more: --after ${live}\n`,
    });
    expect(await rows('--all', '--after', live)).toEqual([expect.stringMatching(/ gone/)]);
  });

  test('pause, resume and stop: by number or full name, and who asked is listed', async () => {
    const [a, b] = [await register('a'), await register('b')];
    expect(await project.run(['workers', 'pause', a, 'b:7:ab12'])).toMatchObject({
      code: 0,
      stdout: `worker ${a} (a:7:ab12) claims nothing until resumed
worker ${b} (b:7:ab12) claims nothing until resumed
`,
    });
    expect((await project.run(['workers'])).stdout).toMatch(/ a:7:ab12 +paused \S.* by \w+ \(\S+@\S+\) /);
    expect(await project.run(['workers', 'resume', a])).toMatchObject({
      code: 0,
      stdout: `worker ${a} (a:7:ab12) claims again\n`,
    });
    expect(await project.run(['workers', 'resume', a])).toMatchObject({
      code: 0,
      stdout: `worker ${a} (a:7:ab12) is not paused\n`,
    });
    expect(await project.run(['workers', 'stop', b])).toMatchObject({
      code: 0,
      stdout: `worker ${b} (b:7:ab12) was asked to stop\n`,
    });
    expect((await project.run(['workers'])).stdout).toMatch(
      / b:7:ab12 +stopping, asked \S.* by \w+ \(\S+@\S+\) /,
    );
  });

  test('the name that work --name gave stands in the list, and means all that live with it', async () => {
    const [first, second, over] = [
      await register('h1', { name: 'mailer' }),
      await register('h2', { name: 'mailer' }),
      await register('h3', { name: 'mailer' }),
    ];
    await ended(over);
    const { stdout } = await project.run(['workers', 'pause', 'mailer', first]);
    const expected = (id: string) => `worker ${id} (mailer:7:ab12) claims nothing until resumed`;
    expect(stdout.trimEnd().split('\n').toSorted()).toEqual([first, second].map(expected).toSorted());
    expect((await project.run(['workers'])).stdout).toMatch(new RegExp(`^ *${first} +mailer +paused `, 'm'));
  });

  test('set: says what it will be', async () => {
    const id = await register('set');
    expect(
      await project.run(['workers', 'set', id, '--concurrency', '20', '--poll', '500ms', '--queues', 'a, b']),
    ).toMatchObject({
      code: 0,
      stdout: `worker ${id} (set:7:ab12) runs 20 at a time, looks every 500ms, serves a, b\n`,
    });
    expect(await project.run(['workers', 'set', id, '--lease', '60s', '--batch', '500'])).toMatchObject({
      code: 0,
      stdout: `worker ${id} (set:7:ab12) holds tasks for 1m, claims 500 at once\n`,
    });
    expect((await project.json(['workers'])).workers[0]).toMatchObject({
      ...{ id, lease_ms: 600_000, wanted_lease_ms: 60_000, batch: 500 },
    });
    expect(await project.run(['workers', 'set', id, '--batch', 'auto'])).toMatchObject({
      stdout: `worker ${id} (set:7:ab12) claims as many as will start soon\n`,
    });
    expect((await project.json(['workers'])).workers[0]).toMatchObject({
      wanted_lease_ms: 60_000,
      batch: 'auto',
    });
    await project.run(['workers', 'set', id, '--all-queues']);
    const { workers } = await project.json(['workers']);
    expect(workers[0]).toMatchObject({ id, concurrency: 20, poll_ms: 500, queues: null });
  });

  test('an order to an ended worker fails with exit 1, except stop', async () => {
    const id = await register('late');
    await ended(id);
    for (const args of [['pause'], ['resume'], ['set', '--concurrency', '1']]) {
      expect(await project.run(['workers', ...args, id])).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^taskq: worker \d+ \(late:7:ab12\) ended /),
      });
    }
    expect(await project.run(['workers', 'stop', id])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^worker \d+ \(late:7:ab12\) ended /),
    });
  });

  test('a silent worker gets the order when it is back', async () => {
    const id = await register('quiet');
    await project.client.query(
      "update taskq.workers set heartbeat_at = now() - interval '20 min' where id = $1",
      [id],
    );
    expect((await project.run(['workers', 'pause', id])).stdout).toBe(
      `worker ${id} (quiet:7:ab12) claims nothing until resumed; it has been silent for 20m and will follow when it is back\n`,
    );
  });

  test('an unknown one is named with the nearest, and none of the others is touched', async () => {
    const id = await register('production-mail');
    expect(await project.run(['workers', 'stop', id, 'prodcution-mail:7:ab12'])).toMatchObject({
      code: 1,
      stderr:
        'taskq: no worker prodcution-mail:7:ab12 (did you mean "production-mail:7:ab12"?) — taskq workers --all lists all workers\n',
    });
    expect((await project.json(['workers'])).workers[0]).toMatchObject({ id, status: 'live' });
  });

  test.each([
    [['set', '1'], 'nothing to set: give an option such as --concurrency 4'],
    [['set', '1', '--concurrency', '0'], '--concurrency "0": expected a whole number from 1 to 10000'],
    [
      ['set', '1', '--poll', '1'],
      '--poll "1": expected a duration of at least 10ms and at most 1d such as 500ms, 30s, 1h30m or PT10M',
    ],
    [
      ['set', '1', '--lease', '99ms'],
      '--lease "99ms": expected a duration of at least 100ms and at most 1d such as 500ms, 30s, 1h30m or PT10M',
    ],
    [
      ['set', '1', '--lease', '25h'],
      '--lease "25h": expected a duration of at least 100ms and at most 1d such as 500ms, 30s, 1h30m or PT10M',
    ],
    [['set', '1', '--batch', 'all'], '--batch "all": expected a whole number from 1 to 10000 or auto'],
    [['set', '1', '--queues', ','], '--queues ",": expected a list of names, or names separated by commas'],
    [['set', '1', '--queues', 'a', '--all-queues'], 'give either --queues or --all-queues, not both'],
    [['list', '--after', 'x'], '--after "x": expected the number of a worker, such as 1406218731'],
  ])('taskq workers %j is refused with what was expected, exit 2', async (args, expected) => {
    expect(await project.run(['workers', ...args])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `taskq: ${expected}\n`,
    });
  });
});
