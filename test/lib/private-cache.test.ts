import { chmod, chown, mkdir, readdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { privateCache } from '../../src/lib/private-cache.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const before = process.env.XDG_CACHE_HOME;
afterEach(() => {
  if (before === undefined) delete process.env.XDG_CACHE_HOME;
  else process.env.XDG_CACHE_HOME = before;
});

async function home(mode: number): Promise<string> {
  const directory = await temporaryDirectory();
  await chmod(directory, mode);
  process.env.XDG_CACHE_HOME = directory;
  return directory;
}

test('is created for this user alone', async () => {
  const directory = await home(0o755);
  expect(privateCache('modules')).toBe(join(directory, 'taskq/modules'));
  expect((await stat(join(directory, 'taskq'))).mode & 0o777).toBe(0o700);
  expect(privateCache('modules')).toBe(join(directory, 'taskq/modules'));
});

test.each([0o777, 0o775])('is not taken where others can rename it (%o)', async (mode) => {
  const directory = await home(mode);
  expect(privateCache('modules')).toBeUndefined();
  expect(await readdir(directory)).toEqual([]);
});

test('is not taken if others can write to it', async () => {
  const directory = join(await home(0o755), 'taskq/modules');
  await mkdir(directory, { recursive: true });
  await chmod(directory, 0o1777);
  expect(privateCache('modules')).toBeUndefined();
});

test('is not taken if it is a link to where others can write', async () => {
  const theirs = await temporaryDirectory();
  await chmod(theirs, 0o777);
  await symlink(theirs, join(await home(0o755), 'taskq'));
  expect(privateCache('modules')).toBeUndefined();
  expect(await readdir(theirs)).toEqual([]);
});

test.runIf(process.getuid?.() === 0)('is not created in the home of another user', async () => {
  const directory = await home(0o755);
  await chown(directory, 65_534, 65_534);
  expect(privateCache('modules')).toBeUndefined();
  expect(await readdir(directory)).toEqual([]);
});

test('is done without where it cannot be created', async () => {
  process.env.XDG_CACHE_HOME = '/proc/none';
  expect(privateCache('modules')).toBeUndefined();
});
