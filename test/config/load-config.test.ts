import { mkdir, symlink, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { describeConfig } from '../../src/config/describe-config.ts';
import { type ConfigSources, type LoadedConfig, loadConfig } from '../../src/config/load-config.ts';
import { SETTING_FIELDS } from '../../src/config/settings.ts';
import { TaskqError } from '../../src/lib/errors.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let cwd: string;

beforeEach(async () => {
  cwd = await temporaryDirectory();
  await file('package.json', '{"name":"project"}');
});

async function file(name: string, text: string): Promise<string> {
  const path = join(cwd, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return path;
}

function load(from: Partial<ConfigSources> = {}): Promise<LoadedConfig> {
  return loadConfig({ cwd, env: {}, flags: {}, ...from });
}

async function refusal(from: Partial<ConfigSources> = {}): Promise<string> {
  const error = await load(from).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TaskqError);
  expect(error).toMatchObject({ exitCode: 2 });
  expect((error as TaskqError).message).not.toContain('\n');
  return (error as TaskqError).message;
}

test('with nothing set, every value is the default', async () => {
  const { values, sources, file: path } = await load();
  expect(values).toEqual({
    databaseUrl: null,
    directUrl: null,
    database: null,
    stateDir: null,
    synchronousCommit: 'on',
    concurrency: 8,
    processes: 1,
    queues: null,
    types: null,
    handlers: join(cwd, 'handlers'),
    isolation: 'inline',
    batch: 'auto',
    claim: 'skip-locked',
    leaseMs: 30_000,
    heartbeatMs: 10_000,
    pollMs: 1000,
    graceMs: 25_000,
    killAfterMs: 2_000,
    rescueMs: 5000,
    maxAttempts: null,
    backoff: null,
    timeoutMs: null,
    expiresMs: null,
    retention: null,
    name: null,
    taskTypes: null,
    queueSettings: null,
    schedules: null,
    logLevel: 'info',
  });
  expect(new Set(Object.values(sources))).toEqual(new Set(['default']));
  expect(path).toBeNull();
});

describe('precedence:', () => {
  test('a file is stronger than a default, the environment than the file, a flag than both', async () => {
    const path = await file(
      'taskq.config.json',
      '{"concurrency": 2, "poll": "2s", "lease": "60s", "name": null}',
    );
    const env = { TASKQ_CONCURRENCY: '3', TASKQ_POLL: '3s' };
    const { values, sources } = await load({ env, flags: { concurrency: '4', queues: undefined } });
    expect(values).toMatchObject({ concurrency: 4, pollMs: 3000, leaseMs: 60_000, graceMs: 25_000 });
    expect(sources).toMatchObject({
      concurrency: 'flag --concurrency',
      pollMs: 'environment TASKQ_POLL',
      leaseMs: `file ${path}`,
      graceMs: 'default',
      name: 'default',
    });
  });

  test('TASKQ_DATABASE_URL is stronger than DATABASE_URL, and an empty variable is none', async () => {
    const both = { DATABASE_URL: 'postgres://a/a', TASKQ_DATABASE_URL: 'postgres://b/b' };
    expect((await load({ env: both })).values.databaseUrl).toBe('postgres://b/b');
    const { values, sources } = await load({ env: { ...both, TASKQ_DATABASE_URL: '' } });
    expect(values.databaseUrl).toBe('postgres://a/a');
    expect(sources.databaseUrl).toBe('environment DATABASE_URL');
  });

  test('a flag of another command is none of ours', async () => {
    expect(
      (await load({ flags: { timeout: '5s', retention: 'nonsense', since: '1h' } })).values.timeoutMs,
    ).toBeNull();
  });
});

describe('the file', () => {
  test.each([
    ['taskq.config.ts', 'const concurrency: number = 5; export default { concurrency };'],
    ['taskq.config.js', 'module.exports = { concurrency: 5 };'],
    ['taskq.config.mjs', 'export default { concurrency: 5 };'],
    ['taskq.config.cjs', 'module.exports = { concurrency: 5 };'],
    ['taskq.config.json', '{"concurrency": 5}'],
    ['taskq.config.yaml', 'concurrency: 5'],
    ['.taskqrc', 'concurrency: 5'],
    ['.taskqrc.json', '{"concurrency": 5}'],
    ['.taskqrc.yaml', 'concurrency: 5'],
    ['.taskqrc.yml', 'concurrency: 5'],
    ['package.json', '{"taskq": {"concurrency": 5}}'],
  ])('may be %s', async (name, text) => {
    const path = await file(name, text);
    expect(await load()).toMatchObject({ values: { concurrency: 5 }, file: path });
  });

  test('is found from a folder of the project, but not above it', async () => {
    const path = await file('taskq.config.json', '{"concurrency": 5}');
    await file('a/b/x', '');
    expect((await load({ cwd: join(cwd, 'a', 'b') })).file).toBe(path);
    await file('a/package.json', '{}');
    expect((await load({ cwd: join(cwd, 'a', 'b') })).file).toBeNull();
  });

  test('that is asked for is read alone', async () => {
    await file('taskq.config.json', '{"concurrency": 5}');
    const path = await file('other/settings.json', '{"concurrency": 6}');
    expect(await load({ configPath: 'other/settings.json' })).toMatchObject({
      values: { concurrency: 6 },
      file: path,
    });
    expect(await refusal({ configPath: 'absent.json' })).toBe(`${join(cwd, 'absent.json')}: no such file`);
  });

  test('that is empty says nothing', async () => {
    await file('empty.yaml', '');
    expect((await load({ configPath: 'empty.yaml' })).values.concurrency).toBe(8);
  });

  test('that cannot be read is refused, naming it, and not passed over', async () => {
    const path = join(cwd, 'taskq.config.json');
    await file('.taskqrc', 'concurrency: 5');
    await symlink('nowhere', path);
    expect(await refusal()).toBe(`${path}: no such file`);
    await unlink(path);
    await mkdir(path);
    expect(await refusal()).toBe(`${path}: it is a directory`);
  });

  test.each([
    [
      'taskq.config.ts',
      'export default { concurrencies: 5 };',
      'unknown setting "concurrencies" (did you mean "concurrency"?)',
    ],
    ['package.json', '{"taskq": {"quues": ["a"]}}', 'unknown setting "quues" (did you mean "queues"?)'],
    ['taskq.config.json', '{"leaseMs": 5}', 'unknown setting "leaseMs" (did you mean "lease"?)'],
    ['taskq.config.json', '{"__proto__": 5}', 'unknown setting "__proto__"'],
    ['taskq.config.json', '[1]', 'expected an object with settings, got a list'],
    ['package.json', '{"taskq": "yes"}', 'expected an object with settings, got "yes"'],
    ['taskq.config.json', '{"concurrency": }', 'invalid JSON at line 1, column 17'],
    ['package.json', '{"name": oops}', 'invalid JSON at line 1, column 10'],
    ['taskq.config.yaml', 'a: [1', 'invalid YAML'],
    ['taskq.config.ts', 'export const concurrency = 5;', 'expected a default export'],
    ['taskq.config.ts', 'export default { a: : 1 }', 'Unexpected token'],
    ['taskq.config.mjs', 'throw new Error("not here")', 'not here'],
    ['taskq.config.mjs', 'import "./absent.mjs"', 'absent.mjs'],
    [
      'taskq.config.ts',
      'import { readFileSync } from "node:fs"; readFileSync("absent"); export default {}',
      'ENOENT',
    ],
  ])('%s with %j is refused, naming it', async (name, text, reason) => {
    const path = await file(name, text);
    const message = await refusal();
    expect(message).toContain(reason);
    expect(message.startsWith(`${path}: `)).toBe(true);
  });
});

describe('a bad value is refused, naming the setting, its source and what was expected:', () => {
  test.each([
    [
      'concurrency',
      '0',
      'concurrency (environment TASKQ_CONCURRENCY): expected a whole number from 1 to 10000, got "0"',
    ],
    ['concurrency', '10001', 'expected a whole number from 1 to 10000'],
    ['concurrency', '4.5', 'expected a whole number'],
    ['concurrency', 'many', 'expected a whole number'],
    ['batch', 'all', 'expected a whole number from 1 to 10000 or auto, got "all"'],
    [
      'lease',
      'soon',
      'lease (environment TASKQ_LEASE): expected a duration of at least 100ms and at most 1d such as 500ms, 30s',
    ],
    ['lease', '1ms', 'expected a duration of at least 100ms'],
    ['database', 'embeded', 'expected embedded, got "embeded"'],
    [
      'log_level',
      'loud',
      'logLevel (environment TASKQ_LOG_LEVEL): expected debug, info, warn or error, got "loud"',
    ],
    ['queues', 'a,,b', 'expected a list of names, or names separated by commas'],
    ['max_attempts', '0', 'expected a whole number from 1 to 2147483647 or unlimited'],
    ['backoff', 'fast', 'backoff (environment TASKQ_BACKOFF): expected an object such as'],
    [
      'backoff',
      '{"kind":"cubic"}',
      'backoff (environment TASKQ_BACKOFF): backoff: kind "cubic": expected one of fixed',
    ],
    ['retention', 'long', 'retention (environment TASKQ_RETENTION): retention "long": expected none, ever'],
  ])('%s = %s', async (name, text, message) => {
    expect(await refusal({ env: { [`TASKQ_${name.toUpperCase()}`]: text } })).toContain(message);
  });

  test('in a flag', async () => {
    expect(await refusal({ flags: { concurrency: 'x' } })).toMatch(
      /^concurrency \(flag --concurrency\): expected/,
    );
  });

  test('in a file', async () => {
    const path = await file('taskq.config.json', '{"poll": true}');
    expect(await refusal()).toMatch(`poll (file ${path}): expected a duration`);
  });

  test('of the options of a type', async () => {
    const path = await file('taskq.config.json', '{"taskTypes": {"send-email": {"timout": "5s"}}}');
    expect(await refusal()).toBe(
      `taskTypes (file ${path}): send-email: unknown option "timout" (did you mean "timeout"?)`,
    );
    for (const [options, message] of [
      ['{"timeout": "soon"}', 'send-email: timeout "soon": expected a duration'],
      ['{"expires": 0}', 'send-email: expires 0: expected more than 0'],
      ['{"priority": 10}', 'send-email: priority 10: expected 0 to 9'],
      ['{"backoff": {"kind": "fixed"}}', 'send-email: backoff: base is missing'],
      ['{"maxAttempts": 0}', 'send-email: maxAttempts 0: expected'],
      ['{"retention": "x"}', 'send-email: retention "x": expected'],
      ['{"queue": ""}', 'send-email: queue "": expected'],
      ['5', 'send-email: expected an object of options'],
    ] as const) {
      await file('taskq.config.json', `{"taskTypes": {"send-email": ${options}}}`);
      expect(await refusal()).toContain(message);
    }
  });

  test('of the settings of a queue', async () => {
    for (const [settings, message] of [
      ['{"priority": 1}', 'mail: unknown option "priority"'],
      ['{"retenton": "1d"}', 'mail: unknown option "retenton" (did you mean "retention"?)'],
      ['{"deadRetention": "none"}', 'mail: deadRetention "none": expected ever'],
      ['{"errorsRetention": "soon"}', 'mail: errorsRetention "soon": expected'],
      ['{"expires": "0s"}', 'mail: expires "0s": expected more than 0'],
      ['{"groupLimit": 0}', 'mail: groupLimit 0: expected a whole number from 1'],
      ['{"groupLimit": 1.5}', 'mail: groupLimit 1.5: expected a whole number from 1'],
      ['{"groupOrder": "fifo"}', 'mail: groupOrder "fifo": expected strict or relaxed'],
      [
        '{"groupOnDead": "holds"}',
        'mail: groupOnDead "holds": expected go-on or hold (did you mean "hold"?)',
      ],
      ['{"groupBy": true}', 'mail: groupBy true: expected type or none'],
      ['"fast"', 'mail: expected an object of options'],
    ] as const) {
      const path = await file('taskq.config.json', `{"queueSettings": {"mail": ${settings}}}`);
      expect(await refusal()).toContain(`queueSettings (file ${path}): ${message}`);
    }
  });

  test('and a password in it is not printed', async () => {
    await file('taskq.config.json', '{"databaseUrl": {"password": "secret"}}');
    expect(await refusal()).not.toContain('secret');
  });
});

describe('the heartbeat', () => {
  test('is a third of the lease unless it is set', async () => {
    const { values, sources } = await load({ flags: { lease: '6s' } });
    expect(values.heartbeatMs).toBe(2000);
    expect(sources.heartbeatMs).toBe('default');
    expect((await load({ flags: { lease: '6s' }, env: { TASKQ_HEARTBEAT: '1s' } })).values.heartbeatMs).toBe(
      1000,
    );
  });

  test('that is longer is refused, naming both and where they come from', async () => {
    const message = await refusal({ flags: { lease: '6s' }, env: { TASKQ_HEARTBEAT: '3s' } });
    expect(message).toBe(
      'heartbeat (environment TASKQ_HEARTBEAT): expected at most a third of the lease, which is 6s (flag --lease)',
    );
  });
});

describe('the directory of the handlers', () => {
  test('starts at the file that names it, or that is there', async () => {
    await file('taskq.config.json', '{"handlers": "src/tasks"}');
    await file('a/x', '');
    expect((await load({ cwd: join(cwd, 'a') })).values.handlers).toBe(join(cwd, 'src/tasks'));
    await file('taskq.config.json', '{"concurrency": 1}');
    expect((await load({ cwd: join(cwd, 'a') })).values.handlers).toBe(join(cwd, 'handlers'));
  });

  test('starts where one stands when a flag or the environment names it', async () => {
    await file('taskq.config.json', '{"handlers": "src/tasks"}');
    expect((await load({ cwd: join(cwd, 'a'), flags: { handlers: 'h' } })).values.handlers).toBe(
      join(cwd, 'a', 'h'),
    );
    expect((await load({ env: { TASKQ_HANDLERS: '/h' } })).values.handlers).toBe('/h');
  });
});

test('lists, objects and options of types keep their form', async () => {
  await file(
    'taskq.config.json',
    '{"queues": ["a", "b", "a"], "taskTypes": {"x": {"timeout": "5s", "maxAttempts": "unlimited"}}}',
  );
  const backoff = { kind: 'fixed', base: '5s' };
  const { values } = await load({
    flags: { types: 'x, y' },
    env: { TASKQ_BACKOFF: JSON.stringify(backoff) },
  });
  expect(values).toMatchObject({
    queues: ['a', 'b'],
    types: ['x', 'y'],
    backoff,
    taskTypes: { x: { timeout: '5s', maxAttempts: 'unlimited' } },
  });
});

describe('what taskq config prints', () => {
  test('names every setting with its value as a user writes it and its source', async () => {
    const described = describeConfig(await load({ flags: { queues: 'a,b', lease: '90s' } }));
    expect(described).toContainEqual({ key: 'lease', value: '1m30s', source: 'flag --lease' });
    expect(described).toContainEqual({ key: 'queues', value: 'a,b', source: 'flag --queues' });
    expect(described).toContainEqual({ key: 'directUrl', value: null, source: 'default' });
    expect(described.map(({ key }) => key)).toHaveLength(SETTING_FIELDS.length);
  });

  test('shows no password', async () => {
    const url = 'postgres://ann:secret@host/db';
    const loaded = await load({ env: { DATABASE_URL: url, TASKQ_DIRECT_URL: url } });
    expect(loaded.values.databaseUrl).toBe(url);
    expect(JSON.stringify(describeConfig(loaded))).not.toContain('secret');
    expect(describeConfig(loaded)[0]).toMatchObject({ value: 'postgres://ann:***@host/db' });
  });
});
