import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { binaryOnPath } from '../support/binary-on-path.ts';
import { createTestDatabase, emptyDatabase, type TestDatabase } from '../support/database.ts';
import { runTaskq } from '../support/run-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

describe('taskq init', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  const init = (cwd: string, args: string[] = [], env: Record<string, string> = {}) =>
    runTaskq(['init', ...args], { cwd, env });

  /** The commands that it printed. */
  const commandsOf = (stdout: string) =>
    stdout
      .split('\n')
      .filter((line) => line.startsWith('  '))
      .map((line) => line.trim());

  test('in an empty directory: writes a configuration and a handler, and what it prints to go on with runs', async () => {
    const cwd = await temporaryDirectory();
    const unmigrated = await emptyDatabase();
    const { code, stdout, stderr } = await init(cwd, [], { DATABASE_URL: unmigrated.url });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(`created taskq.config.mjs
created handlers/hello.mjs

next:
  taskq migrate
  taskq enqueue hello '{"name":"Ann"}'
  taskq work --until-idle
  taskq list --status completed
`);
    const ran = await promisify(execFile)('bash', ['-euc', commandsOf(stdout).join('\n')], {
      cwd,
      env: {
        PATH: `${await binaryOnPath()}:${process.env.PATH}`,
        HOME: cwd,
        DATABASE_URL: unmigrated.url,
        TASKQ_DIRECT_URL: unmigrated.directUrl,
      },
    });
    expect(ran.stdout).toMatch(/ hello +default +completed .*\{"name":"Ann"\}\n$/);
    const client = await unmigrated.client();
    expect((await client.query('select result from taskq.finished_tasks')).rows).toEqual([
      { result: 'hello Ann' },
    ]);
    await unmigrated.drop();
  });

  test('its configuration gives a task 20 attempts, and says why', async () => {
    const cwd = await temporaryDirectory();
    const env = { DATABASE_URL: database.url };
    await init(cwd, [], env);
    expect(await readFile(join(cwd, 'taskq.config.mjs'), 'utf8')).toMatch(
      /\/\/ .*ten hours(.*\n)+ +maxAttempts: 20,/,
    );
    const { stdout: id } = await runTaskq(['enqueue', 'hello', '{"name":"Bob"}'], { cwd, env });
    const { stdout } = await runTaskq(['show', id.trim(), '--json'], { cwd, env });
    expect(JSON.parse(stdout)).toMatchObject({ max_attempts: 20 });
  });

  test('its reason is right: with the usual back-off the 20th attempt comes about ten hours after the first', async () => {
    const client = await database.client();
    const { rows } = await client.query<{ hours: number }>(
      `select sum(taskq.backoff_delay_ms(d.backoff, n, 0.5)) / 3600000 as hours
       from taskq.defaults d, generate_series(1, 19) as n`,
    );
    expect(Math.round(Number(rows[0]!.hours))).toBe(10);
  });

  test('overwrites nothing: a second time all is kept', async () => {
    const cwd = await temporaryDirectory();
    await init(cwd);
    await writeFile(join(cwd, 'taskq.config.mjs'), 'export default { maxAttempts: 7 };');
    await writeFile(join(cwd, 'handlers/hello.mjs'), 'export default () => 1;');
    const { code, stdout } = await init(cwd);
    expect({ code, stdout: stdout.split('\n').slice(0, 2) }).toEqual({
      code: 0,
      stdout: ['kept    taskq.config.mjs', 'kept    handlers/'],
    });
    expect(await readFile(join(cwd, 'taskq.config.mjs'), 'utf8')).toBe('export default { maxAttempts: 7 };');
    expect(await readFile(join(cwd, 'handlers/hello.mjs'), 'utf8')).toBe('export default () => 1;');
  });

  test('respects what a project has: its configuration, where that says its handlers are, and these', async () => {
    const cwd = await temporaryDirectory();
    await writeFile(join(cwd, 'package.json'), '{"taskq": {"handlers": "./jobs"}}');
    await mkdir(join(cwd, 'jobs'));
    await writeFile(join(cwd, 'jobs/send-email.mjs'), 'export default () => 1;');
    const { stdout } = await init(cwd, [], { DATABASE_URL: database.url });
    expect(stdout).toBe('kept    package.json\nkept    jobs/\n\nnext:\n  taskq migrate\n  taskq work\n');
    expect((await readdir(cwd)).sort()).toEqual(['jobs', 'package.json']);
    expect(await readdir(join(cwd, 'jobs'))).toEqual(['send-email.mjs']);
  });

  test('writes the sample handler where a configuration without handlers wants them', async () => {
    const cwd = await temporaryDirectory();
    await writeFile(join(cwd, 'taskq.config.json'), '{"handlers": "./src/handlers"}');
    const { stdout } = await init(cwd, ['--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      created: ['src/handlers/hello.mjs'],
      kept: ['taskq.config.json'],
    });
  });

  test('without a database says how to have one, and through npx prints what works through npx', async () => {
    const cwd = await temporaryDirectory();
    const { stdout } = await init(cwd, [], { npm_command: 'exec' });
    expect(commandsOf(stdout).slice(0, 2)).toEqual([
      'export TASKQ_DATABASE=embedded  # a local PostgreSQL; or set DATABASE_URL',
      'npx taskq migrate',
    ]);
  });

  test('where it may not write says so in a line', async () => {
    const cwd = await temporaryDirectory();
    await writeFile(join(cwd, 'taskq.config.json'), '{"handlers": "./taskq.config.json/handlers"}');
    const { code, stderr } = await init(cwd);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^taskq: cannot write \S+\/handlers\/hello\.mjs: E[A-Z]+\n$/);
  });
});
