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
  const goOn = async (cwd: string, commands: readonly string[], { url, directUrl }: TestDatabase) => {
    await mkdir(join(cwd, 'node_modules'));
    for (const [name, to] of [
      ['taskq', '.'],
      ['jiti', 'node_modules/jiti'],
    ] as const)
      await symlink(join(REPOSITORY, to), join(cwd, 'node_modules', name));
    return promisify(execFile)('bash', ['-euc', commands.join('\n')], {
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
    const ran = await goOn(cwd, commandsOf(stdout), unmigrated);
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
    expect((await goOn(cwd, commandsOf(stdout), unmigrated)).stdout).toMatch(/^[#ℹ] pass 1$/m);
    expect((await init(cwd, ['--supervisor', 'order-refund'])).stdout).toContain(
      'created supervisors/order_refund.sql\ncreated handlers/order_refund.ts\ncreated handlers/db_function.ts\n\n',
    );
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

  describe('--supervisor', () => {
    const supervisor = (cwd: string, name: string, env: Record<string, string> = {}) =>
      init(cwd, ['--supervisor', name], env);

    test('writes a process that runs: what it prints to go on with ends in an attempt that has succeeded', async () => {
      const cwd = await temporaryDirectory();
      const unmigrated = await emptyDatabase();
      const { stdout } = await supervisor(cwd, 'order-refund', { DATABASE_URL: unmigrated.url });
      expect(stdout).toBe(`created supervisors/order_refund.sql
created handlers/order_refund.mjs
created handlers/db_function.mjs

next:
  taskq migrate --with queues
  psql "$DATABASE_URL" -1 -v ON_ERROR_STOP=1 -f supervisors/order_refund.sql
  psql "$DATABASE_URL" -c 'select supervisors.kickoff_order_refund(1)'
  taskq work
`);
      const commands = commandsOf(stdout).map((line) => line.replace(/work$/, 'work --max-tasks 2'));
      await goOn(cwd, commands, unmigrated);
      const client = await unmigrated.client();
      const { rows } = await client.query(
        `select supervisors.order_refund_supervisor('{"order_refund_task_id": 1}') ->> 'status' as status,
          supervisors.has_order_refund_succeeded_attempt(1) as succeeded`,
      );
      expect(rows).toEqual([{ status: 'succeeded', succeeded: true }]);
      await unmigrated.drop();
    });

    test('overwrites nothing, finds the handlers that there are, and puts all into the schema that it is given', async () => {
      const cwd = await temporaryDirectory();
      await mkdir(join(cwd, 'jobs'));
      await writeFile(join(cwd, 'package.json'), '{"taskq": {"handlers": "./jobs"}}');
      await writeFile(join(cwd, 'jobs/db_function.js'), 'mine');
      const { stdout } = await init(cwd, ['--supervisor', 'shop.order_refund', '--json'], {
        npm_command: 'exec',
      });
      expect(JSON.parse(stdout)).toEqual({
        created: ['supervisors/order_refund.sql', 'jobs/order_refund.mjs'],
        kept: ['jobs/db_function.js'],
        next: [
          'export TASKQ_DATABASE=embedded  # a local PostgreSQL; or set DATABASE_URL',
          'npx taskq migrate --with queues',
          'psql "$(npx taskq db url)" -1 -v ON_ERROR_STOP=1 -f supervisors/order_refund.sql',
          `psql "$(npx taskq db url)" -c 'select shop.kickoff_order_refund(1)'`,
          'npx taskq work',
        ],
      });
      const sql = await readFile(join(cwd, 'supervisors/order_refund.sql'), 'utf8');
      expect(sql).toContain('create table shop.order_refund_task (');
      expect(sql).not.toMatch(/\bdomain\b|foo/);
      expect(sql.match(/FILL IN/g)).toHaveLength(1);
      await writeFile(join(cwd, 'supervisors/order_refund.sql'), `${sql}-- mine`);
      expect((await supervisor(cwd, 'shop.order-refund')).stdout).toContain(
        'kept    supervisors/order_refund.sql\n',
      );
      expect(await supervisor(cwd, 'billing.order-refund')).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining(
          'supervisors/order_refund.sql has another process: it does not define billing.kickoff_order_refund',
        ),
      });
      expect(await readFile(join(cwd, 'supervisors/order_refund.sql'), 'utf8')).toBe(`${sql}-- mine`);
    });

    test('goes on after its supervisor could not be called, also with a handler that was there before', async () => {
      const cwd = await temporaryDirectory();
      await mkdir(join(cwd, 'handlers'));
      await writeFile(
        join(cwd, 'handlers/db_function.mjs'),
        "import { dbFunctionHandler } from 'taskq';\nexport default dbFunctionHandler({ timeout: '1m' });\n",
      );
      const unmigrated = await emptyDatabase();
      const { stdout } = await supervisor(cwd, 'order-refund', { DATABASE_URL: unmigrated.url });
      expect(stdout).toContain(`
kept    handlers/db_function.mjs

handlers/db_function.mjs must retry what fails, as a dbFunctionHandler does that sets no onFailure: after a failure that
completes its task, no supervisor looks at the process again.

next:
`);
      const commands = [
        ...commandsOf(stdout).slice(0, -1),
        'psql "$DATABASE_URL" -c "alter function supervisors.order_refund_supervisor(jsonb) rename to away"',
        'taskq work --max-tasks 1',
      ];
      await goOn(cwd, commands, unmigrated);
      const client = await unmigrated.client();
      const { rows } = await client.query(
        "select status, attempts, error ->> 'name' as error from taskq.all_tasks where type = 'db_function'",
      );
      expect(rows).toEqual([{ status: 'pending', attempts: 1, error: 'UnknownFunction' }]);
      await unmigrated.drop();
    });

    test('prints no command with a URL that only the configuration has', async () => {
      const cwd = await temporaryDirectory();
      await writeFile(join(cwd, 'taskq.config.json'), '{"databaseUrl": "postgres://shop:secret@db/shop"}');
      const { stdout } = await supervisor(cwd, 'order-refund');
      expect(commandsOf(stdout).slice(0, 3)).toEqual([
        'export DATABASE_URL=…  # as your configuration has it',
        'taskq migrate --with queues',
        'psql "$DATABASE_URL" -1 -v ON_ERROR_STOP=1 -f supervisors/order_refund.sql',
      ]);
    });

    test.each([
      ['', 'expected order-refund or shop.order-refund, of lower-case letters, digits and -'],
      ["x'; drop schema taskq; --", 'expected order-refund or shop.order-refund'],
      ['../order', 'expected order-refund or shop.order-refund'],
      ['shop.order.refund', 'expected order-refund or shop.order-refund'],
      ['Order', 'expected order-refund or shop.order-refund'],
      ['a\nb', 'expected order-refund or shop.order-refund'],
      ['a'.repeat(42), 'expected at most 41 characters: has_<name>_succeeded_attempt must fit into 63'],
      [`${'a'.repeat(64)}.b`, 'expected at most 63 characters before the dot, for the schema'],
      ['user.refund', 'user is a reserved word of SQL, and cannot be the schema'],
      ['pg_shop.refund', 'the schema pg_shop has none of yours'],
      ['email', 'tasks of type email are handled already — say what the process does, such as send-email'],
    ])('refuses the name %j in a line, and writes nothing', async (name, why) => {
      const cwd = await temporaryDirectory();
      const { code, stdout, stderr } = await supervisor(cwd, name);
      expect({ code, stdout, lines: stderr.split('\n').length }).toEqual({ code: 2, stdout: '', lines: 2 });
      expect(stderr).toContain(why);
      expect(await readdir(cwd)).toEqual([]);
    });
  });
});
