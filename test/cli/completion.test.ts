import { execFile, execFileSync } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { binaryOnPath } from '../support/binary-on-path.ts';
import { runCommand } from '../support/run-command.ts';
import { runTaskq } from '../support/run-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { sitDown, type Typist } from '../support/typing.ts';
import { createProject, type Project } from './project.ts';

/** What may follow these words, as a shell without ways of its own asks. */
async function offered(...words: string[]): Promise<string[]> {
  const { stdout } = await runCommand(['completion', 'bash', '--', ...words]);
  return stdout.split('\n').slice(0, -1);
}

const GLOBAL = [
  '--help',
  '--database-url',
  '--config',
  '--env-file',
  '--json',
  '--quiet',
  '--no-color',
  '--version',
];

describe('what is offered', () => {
  test('commands, subcommands, and those with a typed prefix', async () => {
    expect(await offered('')).toEqual(expect.arrayContaining(['enqueue', 'work', 'dead', 'queues', 'help']));
    expect(await offered('dead', '')).toEqual(['list', 'groups', 'show', 'revive', 'discard', 'add']);
    expect(await offered('workers', 'p')).toEqual(['pause']);
    expect(await offered('help', 'mi')).toEqual(['migrate']);
    expect(await offered('dead', 'list', '')).toEqual([]);
  });

  test('the options of the command and the global ones, except those already given', async () => {
    expect(await offered('purge', '--')).toEqual([
      ...[
        '--status',
        '--type',
        '--queue',
        '--tag',
        '--reason',
        '--key',
        '--group',
        '--workflow',
        '--priority',
        '--where',
        '--since',
      ],
      ...['--before', '--all', '--limit', '--by', '--why', '--dry-run', '--yes', ...GLOBAL],
    ]);
    expect(await offered('--json', 'dead', 'add', '--reason', 'x', '7', '--')).toEqual([
      '--by',
      ...GLOBAL.filter((name) => name !== '--json'),
    ]);
    expect(await offered('dead', 'revive', '--pay')).toEqual(['--payload']);
    expect(await offered('enqueue', 'x', '--tag', 'a=b', '--ta')).toEqual(['--tag']);
    expect(await offered('workers', '--al')).toEqual(['--all']);
    expect(await offered('purge', '--', '--')).toEqual([]);
  });

  test('fixed values of an option, after a space and after an equals sign', async () => {
    expect(await offered('list', '--status', 'c')).toEqual(['completed', 'cancelled']);
    expect(await offered('enqueue', 'x', '--priority', '')).toEqual([
      ...'0123456789',
      'critical',
      'high',
      'medium',
      'low',
    ]);
    expect(await offered('enqueue', 'x', '--key-for', '')).toEqual(['live', '24h', 'ever']);
    expect(await offered('enqueue', 'x', '--on-held', '')).toEqual(['ignore', 'replace', 'preserve']);
    expect(await offered('queues', 'set', 'q', '--timeout', '')).toEqual(['default']);
    expect(await offered('completion', '')).toEqual(['bash', 'zsh', 'fish']);
    // bash cuts the word at the sign, and replaces what follows it.
    expect(await offered('list', '--status', '=', 'p')).toEqual(['pending']);
    expect((await runCommand(['completion', 'fish', '--', 'list', '--status=p'])).stdout).toBe(
      '--status=pending\t\n',
    );
  });

  test('nothing for a free value, and no option in place of a value', async () => {
    expect(await offered('enqueue', 'x', '--delay', '')).toEqual([]);
    expect(await offered('enqueue', 'x', '--delay', '--')).toEqual([]);
    expect(await offered('enqueue', 'x', '--wait', '--pri')).toEqual(['--priority']);
    expect(await offered('show', '')).toEqual([]);
    expect(await offered('no-such-command', '')).toEqual([]);
  });

  test('files and directories are left to the shell', async () => {
    expect(await offered('enqueue', 'x', '--file', '')).toEqual([':files']);
    expect(await offered('work', '--handlers', 'ha')).toEqual([':files']);
    expect(await offered('--config', '')).toEqual([':files']);
  });

  test('with --json as one document', async () => {
    const { stdout } = await runCommand(['completion', '--json', 'zsh', '--', 'dead', 'li']);
    expect(JSON.parse(stdout)).toEqual({
      files: false,
      completions: [{ value: 'list', about: 'list dead letters, most recent first' }],
    });
  });

  test('completion loads no large package', async () => {
    const { stderr } = await runTaskq(['completion', 'zsh', '--', 'enqueue', '--'], {
      env: { NODE_DEBUG: 'esm,module' },
    });
    expect(stderr).toMatch(/bundled\/program/);
    expect(stderr).not.toMatch(/node_modules\/(pg|ora|cosmiconfig|pino|jiti|string-width)\//);
  });
});

describe('what the database knows by name', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  const lines = async (...words: string[]) => {
    const { stdout, stderr } = await project.run(['completion', 'bash', '--', ...words]);
    expect(stderr).toBe('');
    return stdout.split('\n').slice(0, -1);
  };

  test('types, queues, workers and dead letters are completed from the database', async () => {
    await project.client.query(`select taskq.register_worker('{
      "host": "h", "pid": 1, "unique_part": "x", "concurrency": 1, "lease_ms": 60000, "name": "mailer",
      "types": {"double": {}, "send-email": {}}
    }')`);
    await project.enqueue({ queue: 'mail' });
    const [first, second] = [await project.enqueueDead(), await project.enqueueDead()];
    expect(await lines('list', '--type', '')).toEqual(['double', 'send-email']);
    expect(await lines('enqueue', 'send')).toEqual(['send-email']);
    expect(await lines('cancel', '--queue', '')).toEqual(['mail']);
    expect(await lines('queues', 'pause', 'm')).toEqual(['mail']);
    expect(await lines('list', '--queue', '=', 'm')).toEqual(['mail']);
    expect(await lines('workers', 'stop', '')).toEqual(['mailer']);
    expect(await lines('dead', 'revive', '')).toEqual([second, first]);
    expect(await lines('dead', 'revive', second, '')).toEqual([first]);
    expect(await lines('dead', 'show', '')).toEqual([second, first]);
    expect(await lines('show', '')).toEqual([]);
    await project.run(['schedule', 'add', 'nightly', '@daily', 'double']);
    expect(await lines('schedule', 'show', '')).toEqual(['nightly']);
    expect(await lines('schedule', 'preview', 'ni')).toEqual(['nightly']);
    expect(await lines('schedule', 'add', '')).toEqual([]);
    const flow = (await project.run(['workflow', 'open', 'import'])).stdout.trim();
    expect(await lines('workflow', 'show', '')).toEqual([flow]);
    expect(await lines('enqueue', 'double', '--workflow', '')).toEqual([flow]);
    // The line is about another database.
    expect(await lines('--database-url', 'postgres://elsewhere/x', 'list', '--type', '')).toEqual([]);
  });

  test('an unreachable database gives no completions, quickly and silently', async () => {
    const env = { DATABASE_URL: 'postgres://taskq@192.0.2.1:5/none' };
    expect(await project.run(['completion', 'bash', '--', 'list', '--type', ''], { env })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });
});

test.each([
  [['tcsh'], 'shell "tcsh": expected one of bash, zsh, fish'],
  [['fih'], 'shell "fih": expected one of bash, zsh, fish (did you mean "fish"?)'],
  [[], "missing required argument 'shell' — see taskq completion --help"],
])('taskq completion %j names the supported shells, exit 2', async (args, expected) => {
  expect(await runCommand(['completion', ...args])).toMatchObject({
    code: 2,
    stderr: `taskq: ${expected}\n`,
  });
});

/** In CI each shell must be there. */
function isMissing(shell: string): boolean {
  try {
    execFileSync(shell, ['-c', 'true']);
    return false;
  } catch {
    if (process.env.CI) throw new Error(`apt-get install ${shell}`);
    return true;
  }
}

/** A completed line is run: it prints its words instead, between bars. */
const TELLS = `[ "$1" = completion ] || { printf 'ran'; printf '|%s' "$@"; echo '|'; exit; }`;

const SHELLS = [
  {
    shell: 'bash',
    command: 'bash --norc --noprofile -i',
    setUp: [`PS1='ready> '`, 'eval "$(taskq completion bash)"', 'eval "$(taskq completion bash)"'],
  },
  {
    shell: 'zsh',
    command: 'zsh -f -i',
    setUp: [`PS1='ready> '`, 'autoload -U compinit; compinit -u -D', 'eval "$(taskq completion zsh)"'],
  },
].filter(({ shell }) => !isMissing(shell));

describe.each(SHELLS)('at a terminal, in $shell', ({ command, setUp }) => {
  let typist: Typist;
  let directory: string;

  beforeAll(async () => {
    directory = await temporaryDirectory();
    await writeFile(join(directory, 'payloads.ndjson'), '');
    const path = `${await binaryOnPath(TELLS)}:${process.env.PATH}`;
    typist = sitDown(command, { PATH: path, HOME: await temporaryDirectory() }, directory);
    for (const line of [...setUp, 'echo set-up is over']) await typist.type(`${line}\r`, /ready> $/);
  });
  afterAll(() => typist.leave());

  test.each([
    ['taskq mig\t\r', /ran\|migrate\|/],
    ['taskq dead rev\t1\r', /ran\|dead\|revive\|1\|/],
    ['taskq list --sta\tpen\t\r', /ran\|list\|--status\|pending\|/],
    ['taskq list --status=pen\t--limit 1\r', /ran\|list\|--status=pending\|--limit\|1\|/],
    ['taskq enqueue x --file pay\t\r', /ran\|enqueue\|x\|--file\|payloads\.ndjson\|/],
    [`taskq enqueue x '{"a": "b c"}' --prio\thi\t\r`, /ran\|enqueue\|x\|\{"a": "b c"\}\|--priority\|high\|/],
  ])('%j', async (keys, shows) => {
    await typist.type(keys, new RegExp(`${shows.source}\\s[^]*ready> $`));
  });

  test('completion does not execute the line being typed', async () => {
    await typist.type('taskq enqueue "$(touch evaluated)" --prio\t', /--priority/);
    await typist.type('\u0015true\r', /ready> $/);
    expect(await readdir(directory)).toEqual(['payloads.ndjson']);
  });
});

test.skipIf(isMissing('fish'))('fish lists the completions', async () => {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, 'handlers'));
  const path = `${await binaryOnPath()}:${process.env.PATH}`;
  const listed = async (line: string) => {
    const script = `taskq completion fish | source; complete -C '${line}'`;
    const env = { PATH: path, HOME: directory };
    const { stdout } = await promisify(execFile)('fish', ['--no-config', '-c', script], {
      cwd: directory,
      env,
    });
    return stdout.trimEnd().split('\n');
  };
  expect(await listed('taskq ')).toContain(
    'migrate\tcreate the database schema, or upgrade it to this version',
  );
  expect(await listed('taskq dead re')).toEqual([
    'revive\trun dead letters again: same id and history, attempts reset',
  ]);
  expect(await listed('taskq list --status pen')).toEqual(['pending']);
  expect(await listed('taskq list --status=pen')).toEqual(['--status=pending']);
  expect(await listed('taskq work --handlers han')).toEqual(['handlers/']);
  expect(await listed('taskq show ')).toEqual(['']);
});
