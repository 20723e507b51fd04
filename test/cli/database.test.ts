import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, emptyDatabase, type TestDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const SECRET = 's3cr3t';

describe('the database', () => {
  let empty: TestDatabase;
  let changed: TestDatabase;
  let cwd: string;

  beforeAll(async () => {
    [empty, changed] = await Promise.all([emptyDatabase(), createTestDatabase()]);
    cwd = await temporaryDirectory();
  });
  afterAll(() => Promise.all([empty.drop(), changed.drop()]));

  test('without a configured database or a terminal: exit 2, and both ways to have one', async () => {
    const { code, stderr } = await runCommand(['list'], { cwd });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        'taskq: no database is configured, and no local PostgreSQL is started because neither stdin nor stderr is a terminal — set DATABASE_URL (or --database-url), or set TASKQ_DATABASE=embedded to use the local PostgreSQL\n',
    });
  });

  test('migrate names the URL that it uses where it cannot reach the server', async () => {
    const env = { DATABASE_URL: empty.url, TASKQ_DIRECT_URL: 'postgres://ann:s3cr3t@127.0.0.1:1/db' };
    const { code, stderr } = await runCommand(['migrate'], { cwd, env });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /cannot reach the database postgres:\/\/ann:\*\*\*@127\.0\.0\.1:1\/db: ECONNREFUSED/,
      ),
    });
  });

  test.each(['list', 'migrate'])(
    '%s over TLS where the server has none: names sslmode, not the port',
    async (command) => {
      const url = `${changed.directUrl.replace(/[?&]sslmode=[^&]*/, '')}`;
      const secured = `${url}${url.includes('?') ? '&' : '?'}sslmode=verify-full`;
      const { code, stderr } = await runCommand([command], { cwd, env: { DATABASE_URL: secured } });
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringMatching(
          /^taskq: cannot reach the database .*SSL.* — check sslmode in the URL: .*\n$/,
        ),
      });
    },
  );

  test('db status with one configured says that other commands use it, without its password', async () => {
    const env = { DATABASE_URL: `postgres://ann:${SECRET}@127.0.0.1:1/db` };
    expect(await runCommand(['db', 'status'], { cwd, env })).toMatchObject({
      code: 0,
      stderr: 'other commands use the configured database postgres://ann:***@127.0.0.1:1/db\n',
    });
  });

  test('a role without the rights: names what grants them', async () => {
    const client = await changed.client();
    const role = `stranger_${changed.name}`;
    await client.query(`create role ${role} login; grant usage on schema taskq to ${role}`);
    await client.query(`grant execute on function taskq.get_release() to ${role}`);
    const url = changed.directUrl.replace(/\/\/[^@/]*@/, `//${role}@`);
    expect(await runCommand(['list'], { cwd, env: { DATABASE_URL: url } })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`taskq grants --reader ${role} prints what it needs (or --operator)`),
    });
    await client.query(`drop owned by ${role} cascade; drop role ${role}`);
  });

  describe('a .env file with DATABASE_URL', () => {
    let project: string;
    beforeAll(async () => {
      project = await temporaryDirectory();
      await writeFile(join(project, '.env'), `DATABASE_URL="${changed.url}"\nTASKQ_QUEUES=mail\n`);
    });

    test('is not read by default, and the error names --env-file', async () => {
      expect(await runCommand(['list'], { cwd: project })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('there is a .env here, which is read only with --env-file .env'),
      });
    });

    test('is read by --env-file, below what the environment says and for handlers too', async () => {
      await mkdir(join(project, 'handlers'));
      const handler = 'export default () => process.env.TASKQ_QUEUES;';
      await writeFile(join(project, 'handlers/queues.mjs'), handler);
      const run = (...args: string[]) =>
        runCommand(['--env-file', '.env', ...args], { cwd: project, env: { TASKQ_POLL: '2s' } });
      const { stdout } = await run('config', '--json');
      expect(JSON.parse(stdout)).toMatchObject({
        settings: expect.arrayContaining([
          expect.objectContaining({ key: 'queues', value: 'mail', source: 'environment TASKQ_QUEUES' }),
          expect.objectContaining({ key: 'poll', value: '2s' }),
        ]),
      });
      const { stdout: id } = await run('enqueue', 'queues', '--queue', 'mail');
      expect(await run('work', '--until-idle')).toMatchObject({ code: 0 });
      const shown = await run('show', id.trim(), '--json');
      expect(JSON.parse(shown.stdout)).toMatchObject({ status: 'completed', result: 'mail' });
    });

    test('a missing --env-file is named', async () => {
      const { code, stderr } = await runCommand(['list', '--env-file', 'nowhere.env'], { cwd: project });
      // Node 20 takes the option for its own wherever it stands, and ends with 9 before we begin.
      expect([2, 9]).toContain(code);
      expect(stderr).toMatch(/nowhere\.env: (?:no such file|not found)\n$/);
    });
  });

  test.each([['list'], ['migrate'], ['stats']])(
    'unreachable: taskq %s names host and port without the password, exit 1',
    async (command) => {
      const { code, stderr } = await runCommand(
        [command, '--database-url', `postgres://ann:${SECRET}@127.0.0.1:1/db`],
        { cwd },
      );
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr:
          'taskq: cannot reach the database postgres://ann:***@127.0.0.1:1/db: ECONNREFUSED — check that the server is running and that host and port are right\n',
      });
    },
  );

  test('configured but unreachable never falls back to the embedded one', async () => {
    const env = {
      DATABASE_URL: 'postgres://127.0.0.1:1/db',
      TASKQ_DATABASE: 'embedded',
      TASKQ_STATE_DIR: cwd,
    };
    expect(await runCommand(['list'], { cwd, env })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot reach'),
    });
  });

  test('an invalid URL is refused without showing its password, exit 2', async () => {
    for (const url of [`mysql://ann:${SECRET}@h/db`, `postgres://ann:${SECRET}@h:port/db`, `ann:${SECRET}`]) {
      const { code, stderr } = await runCommand(['list'], { cwd, env: { DATABASE_URL: url } });
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringContaining('expected a URL of PostgreSQL — such as postgres://'),
      });
      expect(stderr).not.toContain(SECRET);
    }
  });

  test('a missing database: exit 1, without a stack', async () => {
    const url = empty.directUrl.replace(empty.name, 'nowhere');
    const { code, stderr } = await runCommand(['list'], { cwd, env: { DATABASE_URL: url } });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^taskq: the database \S+: database "nowhere" does not exist — create the database.*\n$/,
      ),
    });
  });

  test.each([
    ['list'],
    ['show', '1'],
    ['stats'],
    ['dead', 'list'],
    ['cancel', '1'],
    ['enqueue', 'x', '--allow-unknown'],
  ])('the schema is missing: taskq %s says "run taskq migrate", exit 3', async (...args) => {
    const { code, stderr } = await runCommand(args, { cwd, env: { DATABASE_URL: empty.url } });
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: 'taskq: the database has no schema taskq — run taskq migrate\n',
    });
  });

  test('the schema lacks what this binary needs: exit 3', async () => {
    const client = await changed.client();
    await client.query('update taskq.release set number = number - 1');
    const { code, stderr } = await runCommand(['list'], { cwd, env: { DATABASE_URL: changed.url } });
    await client.query('update taskq.release set number = number + 1');
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringMatching(/^taskq: the schema taskq is at .* — run taskq migrate\n$/),
    });
  });

  test('the schema names a later oldest_client: exit 3', async () => {
    const client = await changed.client();
    await client.query('update taskq.release set oldest_client = 1000');
    const { code, stderr } = await runCommand(['list'], { cwd, env: { DATABASE_URL: changed.url } });
    await client.query('update taskq.release set oldest_client = 1');
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringMatching(
        /needs taskq of release 1000 or later.* — install a newer version of taskq\n$/,
      ),
    });
  });

  test('migrate exits 3 when the schema is newer than the binary', async () => {
    const client = await changed.client();
    await client.query('update taskq.release set number = 1000');
    const { code, stderr } = await runCommand(['migrate'], { cwd, env: { DATABASE_URL: changed.directUrl } });
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringMatching(/^taskq: the schema taskq is newer than this version/),
    });
  });
});
