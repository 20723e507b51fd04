import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, emptyDatabase, type TestDatabase } from '../support/database.ts';
import { runTaskq } from '../support/run-taskq.ts';
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

  test('none configured, and nobody at a terminal: exit 2 and both ways named', async () => {
    const { code, stderr } = await runTaskq(['list'], { cwd });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        'taskq: no database is configured — set DATABASE_URL (or --database-url), or TASKQ_DATABASE=embedded for a local one\n',
    });
  });

  test.each([['list'], ['migrate'], ['stats']])(
    'unreachable: taskq %s names host and port without the password, exit 1',
    async (command) => {
      const { code, stderr } = await runTaskq(
        [command, '--database-url', `postgres://ann:${SECRET}@127.0.0.1:1/db`],
        { cwd },
      );
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr:
          'taskq: cannot reach the database postgres://ann:***@127.0.0.1:1/db: ECONNREFUSED — is the server running, and are host and port right?\n',
      });
    },
  );

  test('configured but unreachable never falls back to the embedded one', async () => {
    const env = {
      DATABASE_URL: 'postgres://127.0.0.1:1/db',
      TASKQ_DATABASE: 'embedded',
      TASKQ_STATE_DIR: cwd,
    };
    expect(await runTaskq(['list'], { cwd, env })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot reach'),
    });
  });

  test('a URL that is none is refused without its password, exit 2', async () => {
    for (const url of [`mysql://ann:${SECRET}@h/db`, `postgres://ann:${SECRET}@h:port/db`, `ann:${SECRET}`]) {
      const { code, stderr } = await runTaskq(['list'], { cwd, env: { DATABASE_URL: url } });
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringContaining('expected a URL — such as postgres://'),
      });
      expect(stderr).not.toContain(SECRET);
    }
  });

  test('a database that is not there: exit 1, without a stack', async () => {
    const url = empty.directUrl.replace(empty.name, 'nowhere');
    const { code, stderr } = await runTaskq(['list'], { cwd, env: { DATABASE_URL: url } });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^taskq: database "nowhere" does not exist .*\n$/),
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
    const { code, stderr } = await runTaskq(args, { cwd, env: { DATABASE_URL: empty.url } });
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: 'taskq: the database has no schema taskq — run taskq migrate\n',
    });
  });

  test('the schema lacks what this binary needs: exit 3', async () => {
    const client = await changed.client();
    await client.query('update taskq.release set number = number - 1');
    const { code, stderr } = await runTaskq(['list'], { cwd, env: { DATABASE_URL: changed.url } });
    await client.query('update taskq.release set number = number + 1');
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringMatching(/^taskq: the schema taskq stands at .* — run taskq migrate\n$/),
    });
  });

  test('the schema names a later oldest_client: exit 3', async () => {
    const client = await changed.client();
    await client.query('update taskq.release set oldest_client = 1000');
    const { code, stderr } = await runTaskq(['list'], { cwd, env: { DATABASE_URL: changed.url } });
    await client.query('update taskq.release set oldest_client = 1');
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringMatching(/needs a binary of release 1000 or later.* — install the newer taskq\n$/),
    });
  });

  test('migrate exits 3 when the schema is newer than the binary', async () => {
    const client = await changed.client();
    await client.query('update taskq.release set number = 1000');
    const { code, stderr } = await runTaskq(['migrate'], { cwd, env: { DATABASE_URL: changed.directUrl } });
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringMatching(/^taskq: the schema taskq is newer than this binary/),
    });
  });
});
