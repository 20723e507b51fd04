import { userInfo } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runTaskq } from '../support/run-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let cwd: string;
let stateDir: string;
const run = (...args: string[]) => runTaskq(args, { cwd, env: { TASKQ_STATE_DIR: stateDir } });

beforeAll(async () => {
  [cwd, stateDir] = await Promise.all([temporaryDirectory(), temporaryDirectory()]);
});
afterAll(() => run('db', 'reset', '--server', '--yes'));

test('the local database: status, start, use, logs, url, reset, stop', async () => {
  expect(await run('db', 'status')).toMatchObject({
    code: 0,
    stdout: 'not running: start it with taskq db start\n',
  });
  expect(await run('db', 'url')).toMatchObject({
    code: 1,
    stderr: 'taskq: the local PostgreSQL is not running — run taskq db start\n',
  });
  expect(await run('db', 'logs')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('has never been started'),
  });

  const started = await run('db', 'start');
  expect(started).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^running {2}PostgreSQL 18\.\d+, process \d+ of \w+\n {2}database {2}default\n/,
    ),
  });
  expect(started.stderr).toMatch(/starting the local PostgreSQL\n$/);

  // Migrated without asking, but only used where it is asked for: nobody is at a terminal here.
  expect(await run('list')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no database is configured'),
  });
  const env = { TASKQ_STATE_DIR: stateDir, TASKQ_DATABASE: 'embedded' };
  const used = await runTaskq(['list'], { cwd, env });
  expect(used).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(
      new RegExp(
        `^using the local PostgreSQL 18\\.\\d+ of ${userInfo().username}, database default\\nno task matches\\n$`,
      ),
    ),
  });

  const { url } = JSON.parse((await run('db', 'url', '--json')).stdout);
  expect(await run('db', 'url')).toMatchObject({ code: 0, stdout: `${url}\n` });
  expect(await run('list', '--database-url', url)).toMatchObject({ code: 0, stderr: 'no task matches\n' });
  expect((await run('db', 'logs', '--lines', '1')).stdout.split('\n')).toHaveLength(2);

  expect(await run('db', 'reset', '--yes')).toMatchObject({
    code: 0,
    stdout: 'deleted the local database default\n',
  });
  expect(await run('db', 'reset', '--yes')).toMatchObject({
    code: 0,
    stdout: 'there is no local database default\n',
  });
  // It is made and migrated again at its next use, the server started if need be.
  expect(await run('db', 'stop')).toMatchObject({ code: 0, stdout: 'stopped the local PostgreSQL\n' });
  expect(await run('db', 'stop')).toMatchObject({
    code: 0,
    stdout: 'the local PostgreSQL was not running\n',
  });
  expect(await runTaskq(['stats', '--json'], { cwd, env })).toMatchObject({ code: 0 });
});
