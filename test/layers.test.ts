import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readFunctions } from '../src/queue/schema/schema-release.ts';

const SRC = fileURLToPath(new URL('../src/', import.meta.url));

/** What each layer may import; `index` is the package's public face. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  domain: ['lib'],
  queue: ['domain', 'lib'],
  worker: ['queue', 'domain', 'lib'],
  embedded: ['lib'],
  config: ['domain', 'lib'],
  server: ['lib', 'domain', 'queue', 'library'],
  cli: ['lib', 'domain', 'queue', 'worker', 'embedded', 'config', 'server'],
  library: ['lib', 'domain', 'queue', 'worker', 'config'],
  index: ['lib', 'domain', 'queue', 'worker', 'config', 'library'],
  serve: ['lib', 'server'],
  testing: ['lib', 'domain', 'queue', 'worker', 'library'],
  // It runs in browsers, and knows of us only what the HTTP API says.
  ui: [],
};

/**
 * The folders of the worker, and what each may import of the others: without a cycle. On top stands what puts a worker
 * together: it may import them all, and none of them may import it.
 */
const WORKER_MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  log: [],
  handlers: [],
  attempt: ['handlers', 'log'],
  lease: ['attempt'],
  claim: ['lease'],
  settle: ['attempt', 'claim', 'lease', 'log'],
  isolation: ['attempt', 'handlers', 'log'],
  execute: ['attempt', 'handlers', 'isolation', 'lease', 'log'],
  watchdog: ['attempt', 'lease', 'log'],
  heartbeat: ['lease', 'log', 'watchdog'],
  maintain: ['lease', 'log'],
  schedule: ['lease', 'log'],
  supervise: ['log'],
};

interface Import {
  readonly file: string;
  readonly layer: string;
  readonly from: string;
  readonly isLazy: boolean;
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));
const imports: Import[] = files.flatMap((file) =>
  [...readFileSync(join(SRC, file), 'utf8').matchAll(/\b(from|import)(?:\s+|\(\s*)'([^']+)'/g)].map(
    (match) => ({
      file,
      layer: layerOf(file),
      from: match[2]!,
      isLazy: match[0].includes('('),
    }),
  ),
);

test('every way to import a file is seen', () => {
  const seen = imports.map(({ from, isLazy }) => [from.replace(/^.*\//, ''), isLazy]);
  expect(seen).toContainEqual(['database.ts', false]);
  expect(seen).toContainEqual(['database.ts', true]);
  expect(imports.filter(({ isLazy }) => isLazy).length).toBeGreaterThan(100);
});

test('no file imports from a layer above its own', () => {
  const upward = imports
    .filter(({ from }) => from.startsWith('.'))
    .map(({ file, layer, from }) => ({
      file,
      layer,
      to: layerOf(relative(SRC, join(SRC, dirname(file), from))),
    }))
    .filter(({ layer, to }) => to !== layer && !MAY_IMPORT[layer]?.includes(to));
  expect(upward).toEqual([]);
});

test('no folder of the worker imports from one that it may not', () => {
  const wrong = imports
    .filter(({ layer, from }) => layer === 'worker' && from.startsWith('.'))
    .map(({ file, from }) => ({ file, to: relative(SRC, join(SRC, dirname(file), from)) }))
    .filter(({ to }) => layerOf(to) === 'worker')
    .map(({ file, to }) => ({ file, room: roomOf(file), to: roomOf(to) }))
    .filter(({ room, to }) => room !== 'top' && room !== to && !WORKER_MAY_IMPORT[room]?.includes(to));
  expect(wrong).toEqual([]);
  const rooms = new Set(files.filter((file) => layerOf(file) === 'worker').map(roomOf));
  expect([...rooms].sort()).toEqual([...Object.keys(WORKER_MAY_IMPORT), 'top'].sort());
});

test.each(['queue', 'cli', 'ui'])(
  'the folders of src/%s import each other in one direction only',
  (layer) => {
    // What is loaded when it is needed, as commands are, is no part of it.
    const edges = imports
      .filter((each) => each.layer === layer && !each.isLazy && each.from.startsWith('.'))
      .map(({ file, from }) => [dirname(file), dirname(join(dirname(file), from))] as const)
      .filter(([from, to]) => from !== to && (to === layer || to.startsWith(layer + sep)));
    expect(edges.length).toBeGreaterThan(1);
    expect(circular(edges)).toEqual([]);
  },
);

test('no files import each other in a circle, not for types either', () => {
  const edges = imports
    .filter(({ isLazy, from }) => !isLazy && from.startsWith('.'))
    .map(({ file, from }) => [file, join(dirname(file), from)] as const);
  expect(edges.length).toBeGreaterThan(1000);
  expect(circular(edges)).toEqual([]);
});

/** The imports that lie on a circle, or between two. */
function circular(edges: readonly (readonly [from: string, to: string])[]): string[] {
  let left = edges;
  for (let before = -1; before !== left.length; ) {
    before = left.length;
    const importing = new Set(left.map(([from]) => from));
    const imported = new Set(left.map(([, to]) => to));
    left = left.filter(([from, to]) => importing.has(to) && imported.has(from));
  }
  return [...new Set(left.map((edge) => edge.join(' imports ')))];
}

test('a third-party package is imported by one layer only', () => {
  const layersOf = new Map<string, Set<string>>();
  for (const { layer, from } of imports) {
    if (from.startsWith('.') || from.startsWith('node:') || builtinModules.includes(from)) continue;
    const name = from
      .split('/')
      .slice(0, from.startsWith('@') ? 2 : 1)
      .join('/');
    layersOf.set(name, (layersOf.get(name) ?? new Set()).add(layer));
  }
  expect(
    [...layersOf].filter(([, layers]) => layers.size > 1).map(([name, layers]) => [name, ...layers]),
  ).toEqual([]);
  expect(layersOf.size).toBeGreaterThan(5);
});

test('only files in sql/ name the table taskq.tasks', () => {
  const naming = files.filter((file) => /\btaskq\.tasks\b/.test(readFileSync(join(SRC, file), 'utf8')));
  expect(naming).toEqual([]);
});

test('no statement but those of migrate and grants names a table: a role that may call functions needs no other right', () => {
  const others = files.filter(
    (file) =>
      !['migrate.ts', 'apply-release.ts', 'released-objects.ts', 'grant-statements.ts'].some(
        (name) => file === join('queue', 'schema', name),
      ),
  );
  const naming = others.flatMap((file) =>
    [
      ...readFileSync(join(SRC, file), 'utf8').matchAll(
        /\b(?:from|join|into|update|table|delete from)\s+taskq\.\w+\b(?!\()/gi,
      ),
    ].map(([statement]) => `${file}: ${statement}`),
  );
  expect(naming).toEqual([]);
});

test('only the functions of sql/functions/api are called from outside of the database, and each of them is', async () => {
  const functions = await readFunctions();
  const code = files.map((file) => withoutComments(readFileSync(join(SRC, file), 'utf8'))).join('\n');
  const called = functions.filter(({ name }) => new RegExp(`\\btaskq\\.${name}\\b`).test(code));
  const views = ['all_tasks', 'task_queue_metrics'];
  const names = called.map(({ name }) => name).toSorted();
  expect(names).toEqual(
    functions.flatMap(({ name, isPublic }) => (isPublic && !views.includes(name) ? name : [])),
  );
});

test('the pages import no package that is not built into them, and have no word of SQL', () => {
  const packages = imports.filter(({ layer, from }) => layer === 'ui' && !from.startsWith('.'));
  const names = new Set(packages.map(({ from }) => from.split('/')[0]));
  expect([...names].sort()).toEqual(['preact']);
  const pages = files.filter((file) => layerOf(file) === 'ui');
  const naming = pages.filter((file) =>
    /['"`]\s*(?:select\b[^'"`]*\bfrom|insert into|update\b[^'"`]*\bset|delete from)\b|\btaskq\.\w+\(/i.test(
      withoutComments(readFileSync(join(SRC, file), 'utf8')),
    ),
  );
  expect(naming).toEqual([]);
});

function withoutComments(code: string): string {
  return code.replace(/^\s*(?:\/\/|\/?\*).*$/gm, '');
}

/** Runs programs, and hands on to them what it does not look at. */
const PASSES_ON = join('worker', 'handlers', 'run-program.ts');

test('nothing below the command line reads the environment or ends the process', () => {
  const below = files.filter((file) => !['cli'].includes(layerOf(file)));
  const guilty = below.filter((file) =>
    /process\.(env\b|exit\()/.test(
      readFileSync(join(SRC, file), 'utf8').replace(file === PASSES_ON ? '...process.env' : '', ''),
    ),
  );
  expect(guilty).toEqual([]);
});

function layerOf(file: string): string {
  const [first] = file.split(sep);
  return first!.replace(/\.ts$/, '');
}

/** The folder of a file of the worker. */
function roomOf(file: string): string {
  const [, room, name] = file.split(sep);
  return name === undefined ? 'top' : room!;
}
