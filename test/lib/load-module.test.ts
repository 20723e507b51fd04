import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TaskqError } from '../../src/lib/errors.ts';
import { loadModule } from '../../src/lib/load-module.ts';
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
  ['null.mjs', 'throw null;', /null\.mjs: null$/],
  ['imports.mjs', 'import "./absent.mjs";', /imports\.mjs: .*absent\.mjs/],
  ['imports.ts', 'import "./absent.ts";', /imports\.ts: .*absent\.ts/],
  ['a.txt', '', /a\.txt: expected a file that ends in \.js, .*\.cts$/],
])('%s is refused in one line that names the file and the reason', async (name, text, message) => {
  const error = await failureOf(await fileWith(name, text));
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
