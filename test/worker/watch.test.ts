import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RunningTaskq } from '../support/start-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

type Files = Readonly<Record<string, string>>;

/** Writes files below a directory: at once, or a worker takes what is between two of them for the whole change. */
function write(directory: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
}

/** A worker that watches a directory with these files. */
async function watching(files: Files, args: readonly string[] = []) {
  const root = await temporaryDirectory();
  const handlers = join(root, 'handlers');
  write(handlers, files);
  const worker = queue.work(['--watch', ...args], { handlers });
  await worker.waitForLog(event('worker.started'));
  return { root, handlers, worker };
}

/** Waits for the nth line of an event. */
async function logged(worker: RunningTaskq, name: string, times = 1) {
  await until(
    async () => eventsOf(worker, name).length >= times,
    async () => `not ${times} times ${name}:\n${worker.stdout()}${worker.stderr()}`,
  );
  return eventsOf(worker, name)[times - 1]!;
}

async function resultOf(type: string, payload: unknown = {}): Promise<unknown> {
  const id = await queue.enqueue(type, payload);
  await queue.hasStatus(id, 'completed');
  return (await queue.task(id)).result;
}

/** Returns its version once a file exists. */
const waiting = (version: number) => `
  import { existsSync } from 'node:fs';
  import { setTimeout as sleep } from 'node:timers/promises';
  export default async ({ until }) => {
    while (!existsSync(until)) await sleep(10);
    return ${version};
  };`;

describe('work --watch', () => {
  test('runs a changed handler from the next start on; what runs keeps the old one', async () => {
    const { root, handlers, worker } = await watching({ 'slow.mjs': waiting(1) });
    const go = join(root, 'go');
    const before = await queue.enqueue('slow', { until: go });
    await worker.waitForLog(event('task.started', before));
    write(handlers, { 'slow.mjs': waiting(2) });
    expect(await logged(worker, 'handlers.reloaded')).toMatchObject({
      changed: ['slow.mjs'],
      added: [],
      removed: [],
    });
    const after = await queue.enqueue('slow', { until: go });
    await worker.waitForLog(event('task.started', after));
    writeFileSync(go, '');
    await queue.hasStatus(before, 'completed');
    await queue.hasStatus(after, 'completed');
    expect((await queue.task(before)).result).toBe(1);
    expect((await queue.task(after)).result).toBe(2);
    expect(worker.stderr()).toBe('');
    const next = (type: string) => `export const onComplete = '${type}'; export default () => {};`;
    write(handlers, { 'slow.mjs': next('slower'), 'slower.mjs': next('slow') });
    expect(await logged(worker, 'callbacks.left_out')).toMatchObject({ type: 'slow' });
  });

  const imported: [string, Files, string, (version: number) => string][] = [
    [
      'a TypeScript helper',
      { 'typescript/h.ts': "import { v } from './_lib.ts'; export default () => v;" },
      'typescript/_lib.ts',
      (v) => `export const v: number = ${v};`,
    ],
    [
      'an ES module of an ES module',
      {
        'modules/h.mjs': "export { v as default } from './_a.mjs';",
        'modules/_a.mjs': "import { n } from './_b.mjs'; export const v = () => n;",
      },
      'modules/_b.mjs',
      (v) => `export const n = ${v};`,
    ],
    [
      'an ES module of TypeScript',
      { 'mixed/h.ts': "import { v } from './_lib.mjs'; export default () => v as number;" },
      'mixed/_lib.mjs',
      (v) => `export const v = ${v};`,
    ],
    [
      'a CommonJS module',
      { 'commonjs/h.cjs': "const { v } = require('./_lib.cjs'); module.exports = () => v;" },
      'commonjs/_lib.cjs',
      (v) => `exports.v = ${v};`,
    ],
    [
      'JSON',
      {
        'json/h.mjs': "import { v } from './_read.cjs'; export default () => v;",
        'json/_read.cjs': "exports.v = require('./_d.json').v;",
      },
      'json/_d.json',
      (v) => `{ "v": ${v} }`,
    ],
    [
      'a module outside of the directory',
      { 'outside/h.ts': "import { v } from '../../src/mail.ts'; export default () => v;" },
      '../src/mail.ts',
      (v) => `export const v: number = ${v};`,
    ],
    [
      'a handler that runs in a process of its own',
      {},
      'apart/h.mjs',
      (v) => `export const isolation = 'process'; export default () => ${v};`,
    ],
  ];
  const types = ['typescript', 'modules', 'mixed', 'commonjs', 'json', 'outside', 'apart'];
  test(`loads anew ${imported.map(([what]) => what).join(', ')}`, async () => {
    const first = imported.map(([, files, name, text]) => ({ ...files, [name]: text(1) }));
    const { handlers, worker } = await watching(Object.assign({}, ...first));
    let times = 0;
    for (const [index, [what, , name, text]] of imported.entries()) {
      const type = `${types[index]}/h`;
      expect(await resultOf(type), what).toBe(1);
      for (const version of [2, 3]) {
        write(handlers, { [name]: text(version) });
        times += 1;
        expect(await logged(worker, 'handlers.reloaded', times), what).toMatchObject({ changed: [name] });
        expect(await resultOf(type), what).toBe(version);
      }
    }
  });

  const broken: [string, string, string, RegExp][] = [
    ['with a syntax error', 'h.mjs', 'export default (', /h\.mjs: Unexpected/],
    ['of TypeScript with a syntax error', '_lib.ts', 'export const v: = 1;', /_lib\.ts:1/],
    ['that throws when it is loaded', 'h.mjs', 'throw new Error("no key")', /h\.mjs: no key/],
    ['that exports no handler', 'h.mjs', 'export const x = 1;', /h\.mjs: exports no handler/],
    ['that is another one of its type', 'h.cjs', 'module.exports = () => 1;', /two files handle h: .*h\.cjs/],
  ];
  const troubles = broken.map(([what]) => what).join(', ');
  test(`keeps all that was there where one file ${troubles}, says which, and goes on`, async () => {
    const good = {
      'h.mjs': 'export default () => "mended 0";',
      't.ts': "import { v } from './_lib.ts'; export default () => v;",
      '_lib.ts': 'export const v: number = 1;',
    };
    const { handlers, worker } = await watching(good);
    for (const [index, [, name, text, expected]] of broken.entries()) {
      const times = index + 1;
      const type = `new-${times}`;
      write(handlers, { [name]: text, [`${type}.mjs`]: 'export default () => "new";' });
      const line = await logged(worker, 'handlers.not_reloaded', times);
      expect(line).toMatchObject({ level: 'error', changed: expect.arrayContaining([name]) });
      const { message } = line.error as { message: string };
      expect(message).toMatch(expected);
      expect(message).not.toContain('\n');
      expect([await resultOf('h'), await resultOf('t')]).toEqual([`mended ${index}`, 1]);
      expect(await queue.value('select count(*)::int from taskq.task_types where name = $1', type)).toBe(0);
      if (!(name in good)) rmSync(join(handlers, name));
      write(handlers, { ...good, 'h.mjs': `export default () => "mended ${times}";` });
      await logged(worker, 'handlers.reloaded', times);
      expect([await resultOf('h'), await resultOf(type)]).toEqual([`mended ${times}`, 'new']);
      expect(eventsOf(worker, 'handlers.not_reloaded')).toHaveLength(times);
    }
  });

  test('registers what is new with its settings, and claims no more what is gone', async () => {
    const { handlers, worker } = await watching({ 'gone.mjs': 'export default () => 1;' });
    const early = await queue.enqueue('fresh');
    rmSync(join(handlers, 'gone.mjs'));
    write(handlers, {
      'fresh.mjs': 'export default { maxAttempts: 7, timeout: "9s", run: () => "here" };',
    });
    expect(await logged(worker, 'handlers.reloaded')).toMatchObject({ added: ['fresh'], removed: ['gone'] });
    await queue.hasStatus(early, 'completed');
    // Both are stored later if others hold a lock of a row at that moment.
    await expect.poll(() => queue.value('select types from taskq.workers')).toEqual(['fresh']);
    expect(
      await queue.rows("select max_attempts, timeout_ms from taskq.task_types where name = 'fresh'"),
    ).toEqual([{ max_attempts: 7, timeout_ms: '9000' }]);
    const left = await queue.enqueue('gone');
    expect(await resultOf('fresh')).toBe('here');
    expect(await queue.task(left)).toMatchObject({ status: 'pending', lease_no: 0 });
  });

  test('the timeout of what is new holds from the first task on', async () => {
    const { handlers, worker } = await watching({ 'h.mjs': 'export default () => 1;' });
    expect(await resultOf('h')).toBe(1);
    const early = await queue.enqueue('fresh');
    const run = '(_, ctx) => new Promise((_, fail) => ctx.signal.addEventListener("abort", () => fail()))';
    write(handlers, {
      'fresh.mjs': `export default { maxAttempts: 1, timeout: "500ms", run: ${run} };`,
    });
    await logged(worker, 'handlers.reloaded');
    await queue.hasStatus(early, 'dead');
    expect(await queue.task(early)).toMatchObject({ error: { name: 'TimeoutError' } });
  });

  test('gives back unburned what it had claimed ahead for a handler that is gone', async () => {
    const { root, handlers, worker } = await watching(
      { 'slow.mjs': waiting(1), 'other.mjs': 'export default () => 1;' },
      ['--concurrency', '2', '--batch', '6'],
    );
    const ids = await queue.enqueueSome(8, 'slow', { until: join(root, 'go') });
    await worker.waitForLog(event('task.started'));
    rmSync(join(handlers, 'slow.mjs'));
    await logged(worker, 'handlers.reloaded');
    await until(
      async () => (await queue.value("select count(*)::int from taskq.tasks where status = 'leased'")) === 0,
      async () => JSON.stringify(await queue.counts()),
    );
    expect(await queue.counts()).toEqual({ running: 2, pending: 6 });
    writeFileSync(join(root, 'go'), '');
    for (const id of ids.slice(0, 2)) await queue.hasStatus(id, 'completed');
    expect(await resultOf('other')).toBe(1);
    expect(await queue.counts()).toEqual({ completed: 3, pending: 6 });
    expect(await queue.rows('select distinct attempts, losses, releases from taskq.tasks')).toEqual([
      { attempts: 0, losses: 0, releases: 0 },
    ]);
  });

  test('goes on when the directory is deleted and made again', async () => {
    const { handlers, worker } = await watching({ 'h.mjs': 'export default () => 1;' });
    rmSync(handlers, { recursive: true });
    expect((await logged(worker, 'handlers.not_reloaded')).error).toMatchObject({
      message: expect.stringContaining(handlers),
    });
    expect(await resultOf('h')).toBe(1);
    write(handlers, { 'deep/er.mjs': 'export default () => 2;' });
    await logged(worker, 'handlers.reloaded');
    expect(await resultOf('deep/er')).toBe(2);
    write(handlers, { 'deep/er.mjs': 'export default () => 3;' });
    await logged(worker, 'handlers.reloaded', 2);
    expect(await resultOf('deep/er')).toBe(3);
  });

  test('takes a save by rename, and ignores what an editor or a handler leaves beside', async () => {
    const { handlers, worker } = await watching({ 'h.mjs': 'export default () => 1;' });
    write(handlers, { '.h.mjs.swp': 'x', 'h.mjs~': 'x', 'handler.log': 'x', 'notes.txt': 'x' });
    write(handlers, { '.h.mjs.new': 'export default () => 2;' });
    renameSync(join(handlers, '.h.mjs.new'), join(handlers, 'h.mjs'));
    expect(await logged(worker, 'handlers.reloaded')).toMatchObject({ changed: ['h.mjs'] });
    expect(await resultOf('h')).toBe(2);
  });

  test('never yields half a set under load, and disturbs no task (R21)', async () => {
    const { root, handlers, worker } = await watching(setOf(0), ['--concurrency', '4']);
    const ids: string[] = [];
    for (let version = 1; version <= 6; version++) {
      ids.push(...(await queue.enqueueSome(50, 'one')), ...(await queue.enqueueSome(50, 'two')));
      const next = join(root, `next-${version}`);
      // Every second set does not load: one of its files is broken.
      write(next, version % 2 === 1 ? { ...setOf(version), 'two.ts': 'export default (' } : setOf(version));
      renameSync(handlers, join(root, `old-${version}`));
      renameSync(next, handlers);
      await logged(
        worker,
        version % 2 === 1 ? 'handlers.not_reloaded' : 'handlers.reloaded',
        Math.ceil(version / 2),
      );
    }
    await queue.drained();
    const results = await queue.rows<{ own: number; lib: number; shared: number }>(
      `select (result ->> 'own')::int as own, (result ->> 'lib')::int as lib, (result ->> 'shared')::int as shared
      from taskq.finished_tasks where status = 'completed' and attempts = 0 and losses = 0`,
    );
    expect(results).toHaveLength(ids.length);
    expect(results.filter(({ own, lib, shared }) => own !== lib || own !== shared)).toEqual([]);
    expect(new Set(results.map(({ own }) => own % 2))).toEqual(new Set([0]));
    expect(eventsOf(worker, 'task.failed')).toEqual([]);
  });

  test('does not use a set whose files changed while it was loaded', async () => {
    const version = (number: number) => `export default () => ${number};`;
    const { handlers, worker } = await watching({ 'a.mjs': version(1), 'z.mjs': version(1) });
    // The file loaded last replaces the first one, and itself.
    const replace = (name: string) =>
      `writeFileSync(${JSON.stringify(join(handlers, name))}, ${JSON.stringify(version(3))});`;
    write(handlers, {
      'a.mjs': version(2),
      'z.mjs': `import { writeFileSync } from 'node:fs'; ${replace('a.mjs')} ${replace('z.mjs')} ${version(2)}`,
    });
    await logged(worker, 'handlers.reloaded');
    expect([await resultOf('a'), await resultOf('z')]).toEqual([3, 3]);
    expect(eventsOf(worker, 'handlers.reloaded')).toHaveLength(1);
  });

  test('starts with a thousand files, and finds the one that changes', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 1000 }, (_, n) => [`d${n % 10}/h${n}.mjs`, `export default () => ${n};`]),
    );
    const { handlers, worker } = await watching(files);
    write(handlers, { 'd7/h777.mjs': 'export default () => "changed";' });
    expect(await logged(worker, 'handlers.reloaded')).toMatchObject({ changed: ['d7/h777.mjs'] });
    expect(await resultOf('d7/h777')).toBe('changed');
    expect(await resultOf('d8/h888')).toBe(888);
  });

  test('keeps its handlers when a changed one lacks what it needs', async () => {
    const needing = (what: string) => `export default {
      prepare() { if (${JSON.stringify(what)} === '') throw new Error('no address is set'); },
      run: () => ${JSON.stringify(what)},
    };`;
    const { handlers, worker } = await watching({ 'needy.mjs': needing('one') });
    write(handlers, { 'needy.mjs': needing('') });
    expect(await logged(worker, 'handlers.not_reloaded')).toMatchObject({
      error: { message: expect.stringMatching(/needy\.mjs: no address is set/) },
    });
    expect(await resultOf('needy')).toBe('one');
    write(handlers, { 'needy.mjs': needing('two') });
    await logged(worker, 'handlers.reloaded');
    expect(await resultOf('needy')).toBe('two');
  });

  test('uses a changed handler once what it needs answers again, without another edit', async () => {
    const { root, handlers, worker } = await watching({ 'needy.mjs': 'export default () => "one"' });
    const down = join(root, 'down');
    const asked = join(root, 'asked');
    writeFileSync(down, '');
    write(handlers, {
      'needy.mjs': `
        import { existsSync, writeFileSync } from 'node:fs';
        export default {
          prepare() {
            writeFileSync(${JSON.stringify(asked)}, '');
            if (!existsSync(${JSON.stringify(down)})) return;
            throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
          },
          run: () => 'two',
        };`,
    });
    await until(
      async () => existsSync(asked),
      async () => worker.stdout(),
    );
    rmSync(down);
    await logged(worker, 'handlers.reloaded');
    expect(eventsOf(worker, 'handlers.not_reloaded')).toEqual([]);
    expect(await resultOf('needy')).toBe('two');
  });

  test('refuses at its start what work without it refuses', async () => {
    const root = await temporaryDirectory();
    write(root, { 'bad.mjs': 'export default (' });
    const worker = queue.work(['--watch'], { handlers: root });
    expect(await worker.exit).toEqual({ code: 2, signal: null });
    expect(worker.stderr()).toContain('bad.mjs');
  });
});

/** Two handlers and two modules they import, all of one version, which they return. */
function setOf(version: number): Files {
  const handler = (path: string) =>
    `import { lib } from './_lib.ts'; import { shared } from '${path}';
     export default () => ({ own: ${version}, lib, shared });`;
  return {
    'one.mjs': handler('./_shared.mjs').replace("import { lib } from './_lib.ts';", 'const lib = shared;'),
    'two.ts': handler('./_shared.mjs'),
    '_lib.ts': `export const lib: number = ${version};`,
    '_shared.mjs': `export const shared = ${version};`,
  };
}
