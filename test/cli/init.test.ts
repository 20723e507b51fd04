import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { binaryOnPath } from '../support/binary-on-path.ts';
import { createTestDatabase, emptyDatabase, type TestDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { runTaskq } from '../support/run-taskq.ts';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

describe('taskq init', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  const init = (cwd: string, args: string[] = [], env: Record<string, string> = {}) =>
    runCommand(['init', ...args], { cwd, env });

  /** The commands that it printed. */
  const commandsOf = (stdout: string) =>
    stdout
      .split('\n')
      .filter((line) => line.startsWith('  '))
      .map((line) => line.trim());

  /** Runs what it printed to go on with, where taskq is installed. */
  const goOn = async (cwd: string, stdout: string, { url, directUrl }: TestDatabase) => {
    await mkdir(join(cwd, 'node_modules'));
    for (const [name, to] of [
      ['taskq', '.'],
      ['jiti', 'node_modules/jiti'],
    ] as const)
      await symlink(join(REPOSITORY, to), join(cwd, 'node_modules', name));
    return promisify(execFile)('bash', ['-euc', commandsOf(stdout).join('\n')], {
      cwd,
      env: {
        PATH: `${await binaryOnPath()}:${process.env.PATH}`,
        HOME: cwd,
        DATABASE_URL: url,
        TASKQ_DIRECT_URL: directUrl,
      },
    });
  };

  test('in an empty directory: writes a configuration, a handler and its test, and what it prints to go on with runs', async () => {
    const cwd = await temporaryDirectory();
    const unmigrated = await emptyDatabase();
    const { code, stdout, stderr } = await init(cwd, [], { DATABASE_URL: unmigrated.url });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(`created taskq.config.mjs
created handlers/hello.mjs
created handlers/hello.test.mjs

next:
  taskq migrate
  taskq enqueue hello '{"name":"Ann"}'
  taskq work --until-idle
  taskq list --status completed
  node --test handlers/hello.test.mjs
`);
    const ran = await goOn(cwd, stdout, unmigrated);
    expect(ran.stdout).toMatch(/ hello +default +completed .*\{"name":"Ann"\}\n/);
    expect(ran.stdout).toMatch(/^[#ℹ] pass 1$/m);
    const client = await unmigrated.client();
    // By the worker: the test rolls its own task back.
    expect((await client.query('select result from taskq.finished_tasks')).rows).toEqual([
      { result: 'hello Ann' },
    ]);
    await unmigrated.drop();
  });

  test('where a tsconfig.json lies: the same in TypeScript, of the right types whatever the package says of .js', async () => {
    const cwd = await temporaryDirectory();
    await writeFile(join(cwd, 'package.json'), '{ "name": "shop", "type": "commonjs" }');
    const compilerOptions = {
      ...{ module: 'nodenext', strict: true, noEmit: true, types: ['node'] },
      typeRoots: [join(REPOSITORY, 'node_modules/@types')],
    };
    await writeFile(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    const unmigrated = await emptyDatabase();
    const { stdout } = await init(cwd, [], { DATABASE_URL: unmigrated.url });
    expect(stdout).toBe(`created taskq.config.ts
created handlers/hello.ts
created handlers/hello.test.ts

next:
  taskq migrate
  taskq enqueue hello '{"name":"Ann"}'
  taskq work --until-idle
  taskq list --status completed
  node --import jiti/register --test handlers/hello.test.ts
`);
    expect((await goOn(cwd, stdout, unmigrated)).stdout).toMatch(/^[#ℹ] pass 1$/m);
    const tsc = join(REPOSITORY, 'node_modules/typescript/bin/tsc');
    const compiled = await promisify(execFile)(process.execPath, [tsc, '-p', cwd]).catch((error) => error);
    expect(compiled.stdout).toBe('');
    await unmigrated.drop();
  });

  test('where tests are run by vitest, its test is one', async () => {
    const cwd = await temporaryDirectory();
    await writeFile(join(cwd, 'package.json'), '{ "devDependencies": { "vitest": "*" } }');
    const { stdout } = await init(cwd, [], { DATABASE_URL: database.url });
    expect(commandsOf(stdout)).toContain('npx vitest run handlers/hello.test.mjs');
    expect(await readFile(join(cwd, 'handlers/hello.test.mjs'), 'utf8')).toContain("from 'vitest'");
  });

  test('its configuration gives a task 20 attempts, and says why', async () => {
    const cwd = await temporaryDirectory();
    const env = { DATABASE_URL: database.url };
    await init(cwd, [], env);
    expect(await readFile(join(cwd, 'taskq.config.mjs'), 'utf8')).toMatch(
      /\/\/ .*ten hours(.*\n)+ +maxAttempts: 20,/,
    );
    const { stdout: id } = await runCommand(['enqueue', 'hello', '{"name":"Bob"}'], { cwd, env });
    // A worker brings it to the database, where it holds for what was enqueued before, too.
    expect(await runTaskq(['work', '--until-idle'], { cwd, env })).toMatchObject({ code: 0 });
    const { stdout } = await runCommand(['show', id.trim()], { cwd, env });
    expect(stdout).toContain(' of 20 attempts');
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
      created: ['src/handlers/hello.mjs', 'src/handlers/hello.test.mjs'],
      kept: ['taskq.config.json'],
    });
  });

  test('without a database says how to have one, and through npx prints what works through npx', async () => {
    const cwd = await temporaryDirectory();
    const { stdout } = await init(cwd, [], { npm_command: 'exec' });
    const next = commandsOf(stdout);
    expect(next.slice(0, 2)).toEqual([
      'export TASKQ_DATABASE=embedded  # a local PostgreSQL; or set DATABASE_URL',
      'npx taskq migrate',
    ]);
    expect(next.at(-1)).toBe('DATABASE_URL="$(npx taskq db url)" node --test handlers/hello.test.mjs');
  });

  test('where it may not write says so in a line', async () => {
    const cwd = await temporaryDirectory();
    await writeFile(join(cwd, 'taskq.config.json'), '{"handlers": "./taskq.config.json/handlers"}');
    const { code, stderr } = await init(cwd);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^taskq: cannot write \S+\/handlers\/hello\.mjs: E[A-Z]+\n$/);
  });
});
