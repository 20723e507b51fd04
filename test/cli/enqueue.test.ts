import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { binaryOnPath } from '../support/binary-on-path.ts';
import { createProject, type Project } from './project.ts';

describe('taskq enqueue', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  const row = async (id: string) =>
    (await project.client.query('select * from taskq.tasks where id = $1', [id])).rows[0];

  test('prints the id, and with --json whether the task was made', async () => {
    const { code, stdout, stderr } = await project.run(['enqueue', 'double', '{"n":1}']);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^\d+\n$/),
      stderr: '',
    });
    expect(await project.json(['enqueue', 'double'])).toEqual({
      id: expect.stringMatching(/^\d+$/),
      created: true,
      answer: 'created',
      next_id: null,
    });
  });

  test('takes every option', async () => {
    const { id } = await project.json([
      ...[
        'enqueue',
        'double',
        '--queue',
        'mail',
        '--priority',
        'critical',
        '--delay',
        '10m',
        '--max-attempts',
        'unlimited',
      ],
      ...[
        '--timeout',
        '30s',
        '--expires',
        '1h',
        '--key',
        'k0',
        '--key-for',
        '24h',
        '--tag',
        'a=b',
        '--tag',
        'c=d=e',
      ],
      ...['--retention', '7d'],
    ]);
    expect(await row(id)).toMatchObject({
      ...{
        queue: 'mail',
        priority: 0,
        max_attempts: 2 ** 31 - 1,
        timeout_ms: '30000',
        unique_key: 'k0',
        retention: '7d',
      },
      tags: { a: 'b', c: 'd=e' },
    });
    const times = await project.client.query<{ delay: number; expires: number }>(
      `select extract(epoch from available_at - created_at)::int as delay,
        extract(epoch from expires_at - available_at)::int as expires from taskq.tasks where id = $1`,
      [id],
    );
    expect(times.rows[0]).toEqual({ delay: 600, expires: 3600 });
  });

  test('--at keeps the instant to the microsecond', async () => {
    const { id } = await project.json(['enqueue', 'double', '--at', '2040-01-31T09:00:00.123456+01:00']);
    const text = `select (available_at at time zone 'UTC')::text as at from taskq.tasks where id = $1`;
    expect((await project.client.query(text, [id])).rows[0].at).toBe('2040-01-31 08:00:00.123456');
  });

  test('a held key: the id of its holder, created false, exit 0', async () => {
    const first = await project.json(['enqueue', 'double', '--key', 'k1']);
    expect(await project.json(['enqueue', 'double', '--key', 'k1'])).toEqual({
      id: first.id,
      created: false,
      answer: 'held',
      next_id: null,
    });
    const { code, stdout, stderr } = await project.run(['enqueue', 'double', '--key', 'k1']);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `${first.id}\n`,
      stderr: `task ${first.id} holds the key "k1"\n`,
    });
  });

  describe('--on-held', () => {
    const replace = (key: string, payload: string, ...more: string[]) => [
      ...['enqueue', 'double', payload, '--key', key, '--on-held', 'replace', ...more],
    ];

    test('replace: a waiting holder has the new payload and options, under its id', async () => {
      const { id } = await project.json(replace('r1', '{"n":1}', '--delay', '1h'));
      expect(await project.run(replace('r1', '{"n":2}', '--delay', '2h'))).toMatchObject({
        code: 0,
        stdout: `${id}\n`,
        stderr: `task ${id} holds the key "r1", and is replaced\n`,
      });
      expect(await project.json(replace('r1', '{"n":3}', '--priority', '7', '--delay', '2h'))).toEqual({
        ...{ id, created: false, answer: 'replaced', next_id: null },
      });
      expect(await row(id)).toMatchObject({ payload: { n: 3 }, priority: 7 });
      const due = (await row(id)).available_at;
      await project.json(['enqueue', 'double', '{"n":4}', '--key', 'r1', '--on-held', 'preserve']);
      expect(await row(id)).toMatchObject({ payload: { n: 4 }, priority: 2, available_at: due });
    });

    test('replace: a holder that a worker has is followed by the new task, which show tells', async () => {
      const { id } = await project.json(replace('r2', '{"n":1}', '--queue', 'again'));
      await project.client.query("select from taskq.claim(1, '{again}', '{double}', 1, 0, 60000)");
      const { next_id, ...answer } = await project.json(replace('r2', '{"n":2}', '--queue', 'again'));
      expect(answer).toEqual({ id, created: false, answer: 'again' });
      expect(await project.run(replace('r2', '{"n":3}', '--queue', 'again'))).toMatchObject({
        code: 0,
        stdout: `${id}\n`,
        stderr: `task ${id} holds the key "r2" and is running; this one runs after it as task ${next_id}\n`,
      });
      expect(await project.json(['show', id])).toMatchObject({
        again: { id: next_id, at: expect.any(String), payload: { n: 3 } },
      });
      const { stdout } = await project.run(['show', id]);
      expect(stdout).toMatch(new RegExp(`then +task ${next_id}, from `));
      expect(stdout).toMatch(/payload of the next run\n {2}\{\n {4}"n": 3\n {2}\}/);
    });

    test('replace: a task of another type is refused, with the key, both types and the holder', async () => {
      const { id } = await project.json(replace('r3', '{}', '--delay', '1h'));
      const args = ['enqueue', 'send-email', '{"to":"ann"}', '--key', 'r3', '--on-held', 'replace'];
      expect(await project.run(args)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: `taskq: task ${id} of type "double" holds the key "r3", which a task of another type ("send-email") cannot replace\n`,
      });
      expect(await project.run([...args, '--json'])).toMatchObject({
        code: 2,
        stderr: expect.stringMatching('"key_of_another"'),
      });
    });
  });

  test('what is on stdin is never passed over: without - it is refused, and a closed or empty one is {}', async () => {
    const refused = {
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^taskq: .*stdin.* — give - to read stdin/),
    };
    expect(await project.run(['enqueue', 'double'], { input: '{"n":1}' })).toMatchObject(refused);
    const env = { PATH: `${await binaryOnPath()}:${process.env.PATH}`, DATABASE_URL: project.url };
    const shell = (line: string) =>
      new Promise((resolve) => {
        execFile('sh', ['-c', line], { cwd: project.directory, env }, (error, stdout, stderr) =>
          resolve({ code: error?.code ?? 0, stdout, stderr }),
        );
      });
    await project.write('payload.json', '{"n":1}');
    expect(await shell('taskq enqueue double < payload.json')).toMatchObject(refused);
    // The pipe stays open until taskq has ended, however long it takes to start.
    const open = 'sleep 300 & echo $! > writer; wait';
    const endWriter = 'code=$?; kill $(cat writer); exit $code';
    expect(await shell(`{ ${open}; } | { taskq enqueue double; ${endWriter}; }`)).toMatchObject(refused);
    expect(await shell('taskq enqueue double < /dev/null')).toMatchObject({ code: 0 });
    expect(await shell('taskq enqueue double <&-')).toMatchObject({ code: 0 });
  });

  test('the text of a payload reaches the database unchanged', async () => {
    const payload = '{"n": 12345678901234567890.10, "e": 1e2, "s": "\\u00e9\\n😀"}';
    const arg = await project.json(['enqueue', 'double', payload]);
    const stdin = await project.json(['enqueue', 'double', '-'], { input: `\n${payload}\n` });
    const file = await project.write('numbers.ndjson', `${payload}\n`);
    await project.run(['enqueue', 'double', '--file', file, '--queue', 'numbers']);
    const { rows } = await project.client.query<{ same: boolean }>(
      `select payload::text = $1::jsonb::text as same from taskq.tasks where id = any ($2) or queue = 'numbers'`,
      [payload, [arg.id, stdin.id]],
    );
    expect(rows.map(({ same }) => same)).toEqual([true, true, true]);
  });

  test('an unknown type is refused with the nearest names, exit 2', async () => {
    const { code, stderr } = await project.run(['enqueue', 'send-emial', '{}']);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(
        /^taskq: unknown type "send-emial" \(did you mean "send-email"\?\): no handler in .*handlers, and no worker has registered it — add a handler, run taskq types add, or add --allow-unknown\n$/,
      ),
    });
  });

  test.each(['--on-complete', '--on-dead'])('so is one that %s names', async (flag) => {
    const { code, stdout, stderr } = await project.run(['enqueue', 'double', flag, 'send-emial']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^taskq: unknown type "send-emial" \(did you mean "send-email"\?\): .*\n$/);
  });

  test('--allow-unknown takes it', async () => {
    const args = ['enqueue', 'of-tomorrow', '--on-complete', 'of-next-week', '--allow-unknown'];
    expect(await project.json(args)).toMatchObject({ created: true });
  });

  test('a type that some worker has registered is known', async () => {
    await project.client.query(`select taskq.register_worker($1)`, [
      JSON.stringify({
        host: 'h',
        pid: 1,
        unique_part: 'u',
        concurrency: 1,
        lease_ms: 30000,
        types: { elsewhere: {} },
      }),
    ]);
    expect(await project.json(['enqueue', 'elsewhere'])).toMatchObject({ created: true });
  });

  test("a payload is checked against its handler's schema: exit 2 with the path in the payload", async () => {
    expect(await project.run(['enqueue', 'send-email', '{"to": 1}'])).toMatchObject({
      code: 2,
      stderr: 'taskq: the payload does not fit send-email: $.to: expected text\n',
    });
  });

  test('a payload of more than 1 MB is refused before it is sent', async () => {
    const { code, stderr } = await project.run(['enqueue', 'double', '-'], {
      input: `"${'x'.repeat(1024 * 1024)}"`,
    });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('larger than 1 MB') });
  });

  test('where the configuration says that a type goes counts before a worker has said so, the command line wins', async () => {
    const config = {
      maxAttempts: 9,
      timeout: '5s',
      taskTypes: { double: { queue: 'q9', priority: 'low', timeout: '6s' } },
    };
    const file = await project.write('taskq.test.json', JSON.stringify(config));
    const { id } = await project.json(['enqueue', 'double', '--config', file, '--priority', '7']);
    expect(await row(id)).toMatchObject({
      ...{ queue: 'q9', priority: 7 },
      // What workers register is resolved when the task runs.
      ...{ timeout_ms: null, max_attempts: null },
    });
  });
});
