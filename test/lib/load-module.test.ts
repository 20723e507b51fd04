import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { TaskqError } from '../../src/lib/errors.ts';
import { loadModule } from '../../src/lib/load-module.ts';
import { syntaxOf } from '../../src/lib/module-syntax.ts';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

async function fileWith(name: string, text: string): Promise<string> {
  const path = join(await temporaryDirectory(), name);
  await writeFile(path, text);
  return path;
}

async function failureOf(path: string): Promise<TaskqError> {
  const error = await loadModule(path).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TaskqError);
  return error as TaskqError;
}

test.each([
  ['a.js', 'export default 1; export const more = 2;'],
  ['a.mjs', 'export default 1; export const more = 2;'],
  ['a.ts', 'export default 1 as number; export const more: number = 2;'],
  ['a.mts', 'export default 1 as number; export const more: number = 2;'],
  ['enum.ts', 'enum Small { one = 1 } export default Small.one; export const more: number = 2;'],
  ['await.ts', 'export default await Promise.resolve<number>(1); export const more = 2;'],
])('%s gives its exports', async (name, text) => {
  const path = await fileWith(name, text);
  if (name === 'a.js') await writeFile(join(path, '..', 'package.json'), '{"type":"module"}');
  expect({ ...(await loadModule(path)) }).toMatchObject({ default: 1, more: 2 });
});

/** What the built `loadModule` gives under Node: the tests' own loader would read every `.js` file as a module. */
async function loadedByNode(paths: readonly string[], env = process.env): Promise<unknown> {
  const built = pathToFileURL(join(REPOSITORY, 'dist/lib/load-module.js')).href;
  const program = `import { loadModule } from ${JSON.stringify(built)};
    const loaded = [];
    for (const path of process.argv.slice(1)) loaded.push((await loadModule(path)).default);
    console.log(JSON.stringify(loaded));`;
  const args = ['--input-type=module', '--eval', program, ...paths];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

test('what is translated is kept for the next process, until the file changes', async () => {
  const path = await fileWith('a.ts', 'export default 1 as number;');
  const cache = await temporaryDirectory();
  const env = { ...process.env, XDG_CACHE_HOME: cache };
  expect(await loadedByNode([path], env)).toEqual([1]);
  const [kept] = await readdir(join(cache, 'taskq/modules'));
  const text = await readFile(join(cache, 'taskq/modules', kept ?? ''), 'utf8');
  await writeFile(join(cache, 'taskq/modules', kept ?? ''), text.replace('= 1', '= 2'));
  expect(await loadedByNode([path], env)).toEqual([2]);
  await writeFile(path, 'export default 3 as number;');
  expect(await loadedByNode([path], env)).toEqual([3]);
});

/** A file that uses one beside it, in each way of writing; `runs` says how often a file written so was run. */
const WRITTEN = {
  module: `import { one } from "./b.js";
    globalThis.ofModule = (globalThis.ofModule ?? 0) + 1;
    export default { get one() { return one; }, get runs() { return ofModule; } };`,
  commonjs: `const { one } = require("./b.js");
    globalThis.ofCommonjs = (globalThis.ofCommonjs ?? 0) + 1;
    module.exports = { get one() { return one; }, get runs() { return ofCommonjs; } };`,
};
const BESIDE = { module: 'export const one = 1;', commonjs: 'exports.one = 1;' };

test.each(['{"type":"module"}', '{"type":"commonjs"}', '{}'])(
  'in a package of %s a .js file loads, run once, written as a module or as CommonJS',
  async (packageJson) => {
    const paths = [];
    for (const how of ['module', 'commonjs'] as const) {
      const path = await fileWith('a.js', WRITTEN[how]);
      await writeFile(join(path, '..', 'b.js'), BESIDE[how]);
      await writeFile(join(path, '..', 'package.json'), packageJson);
      paths.push(path);
    }
    const once = { one: 1, runs: 1 };
    expect(await loadedByNode(paths)).toEqual([once, once]);
  },
);

test.each([
  ['export default 1', 'module'],
  ['import one from "one"', 'module'],
  ['seen = import.meta.url', 'module'],
  ['seen = await 1', 'module'],
  ['const require = 1', 'module'],
  ['module.exports = 1', 'commonjs'],
  ['exports.one = import("one")', 'commonjs'],
  ['#!/usr/bin/env node\nconst one = require("one")', 'commonjs'],
  ['', 'commonjs'],
])('%s is written as %s', (source, written) => {
  expect(syntaxOf(source)).toBe(written);
});

test('the `paths` of tsconfig.json are resolved', async () => {
  const path = await fileWith('a.ts', 'import { one } from "@/lib/b"; export default one;');
  const paths = { '@/*': ['./src/*'] };
  await writeFile(join(path, '..', 'tsconfig.json'), JSON.stringify({ compilerOptions: { paths } }));
  await mkdir(join(path, '../src/lib'), { recursive: true });
  await writeFile(join(path, '../src/lib/b.ts'), 'export const one: number = 1;');
  expect((await loadModule(path)).default).toBe(1);
});

test('a tsconfig.json that extends what is not installed keeps no file from loading', async () => {
  const path = await fileWith('a.ts', 'export default 1 as number;');
  await writeFile(join(path, '..', 'tsconfig.json'), '{"extends":"@tsconfig/absent/tsconfig.json"}');
  expect((await loadModule(path)).default).toBe(1);
});

test.each(['a.mjs', 'a.ts', 'a.js'])(
  '%s that imports taskq where it is not installed says what to do',
  async (name) => {
    const error = await failureOf(await fileWith(name, 'import "taskq"; export default 1;'));
    expect(error).toMatchObject({ hint: expect.stringContaining('npm install taskq') });
  },
);

test.each([
  ['a.cjs', 'module.exports = { on: true };'],
  ['a.cts', 'const on: boolean = true; module.exports = { on };'],
  ['a.ts', 'const on: boolean = true; module.exports = { on };'],
  ['equals.cts', 'const on: boolean = true; export = { on };'],
])('what CommonJS exports in %s is the default', async (name, text) => {
  expect((await loadModule(await fileWith(name, text))).default).toEqual({ on: true });
});

test('TypeScript may import TypeScript and packages beside it', async () => {
  const path = await fileWith(
    'a.ts',
    'import { one } from "./b.ts"; import two from "two"; export default one + two;',
  );
  await writeFile(join(path, '..', 'b.ts'), 'export const one: number = 1;');
  const two = join(path, '..', 'node_modules', 'two');
  await mkdir(two, { recursive: true });
  await writeFile(join(two, 'package.json'), '{"name":"two","type":"module","exports":"./index.js"}');
  await writeFile(join(two, 'index.js'), 'export default 2;');
  expect((await loadModule(path)).default).toBe(3);
});

test.each([
  ['broken.mjs', 'export default {\n  a: 1,\n  b: : 2 };', /broken\.mjs: .*Unexpected token/],
  ['broken.ts', 'export default {\n  a: 1,\n  b: : 2 };', /broken\.ts: .*3:/],
  ['throws.mjs', 'throw new Error("no\\nluck");', /throws\.mjs: no luck$/],
  ['throws.ts', 'throw new Error("no luck");', /throws\.ts: no luck$/],
  ['broken.js', 'export default {\n  a: 1,\n  b: : 2 };', /broken\.js: .*3:/],
  ['null.mjs', 'throw null;', /null\.mjs: null$/],
  ['imports.mjs', 'import "./absent.mjs";', /imports\.mjs: .*absent\.mjs/],
  ['imports.ts', 'import "./absent.ts";', /imports\.ts: .*absent\.ts/],
  ['a.txt', '', /a\.txt: expected a file that ends in \.js, .*\.cts$/],
])('%s is refused in one line that names the file and the reason', async (name, text, message) => {
  const path = await fileWith(name, text);
  await writeFile(join(path, '..', 'package.json'), '{"type":"commonjs"}');
  const error = await failureOf(path);
  expect(error.message).toMatch(message);
  expect(error.message).not.toContain('\n');
  expect(error).toMatchObject({ code: 'module_not_loaded', exitCode: 2 });
});

test.each(['absent.mjs', 'absent.ts'])('%s, which does not exist, is called so', async (name) => {
  const path = join(await temporaryDirectory(), name);
  expect((await failureOf(path)).message).toBe(`${path}: no such file`);
});

test('the error of the file itself is the cause', async () => {
  const error = await failureOf(await fileWith('a.ts', 'throw new RangeError("far");'));
  expect(error.cause).toMatchObject({ name: 'RangeError', message: 'far' });
});
