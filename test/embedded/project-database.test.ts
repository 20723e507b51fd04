import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { projectDatabase } from '../../src/embedded/project-database.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

async function project(name: string, file = 'package.json'): Promise<string> {
  const directory = join(await temporaryDirectory(), name);
  await mkdir(directory);
  await writeFile(join(directory, file), '{}');
  return directory;
}

test('outside of any project the database is default', async () => {
  expect(projectDatabase('/')).toBe('default');
});

test('the name of a project is readable and followed by a hash', async () => {
  expect(projectDatabase(await project('My Shop'))).toMatch(/^my_shop_[0-9a-f]{8}$/);
});

test('every directory of a project has the database of the project', async () => {
  const directory = await project('shop');
  const below = join(directory, 'src', 'deep');
  await mkdir(below, { recursive: true });
  expect(projectDatabase(below)).toBe(projectDatabase(directory));
});

test('the nearest project counts', async () => {
  const directory = await project('outer');
  const inner = join(directory, 'inner');
  await mkdir(inner);
  await writeFile(join(inner, 'package.json'), '{}');
  expect(projectDatabase(inner)).toMatch(/^inner_/);
});

test.for(['taskq.config.ts', 'taskq.config.mjs', 'taskq.config.yaml', '.taskqrc', '.taskqrc.json'])(
  'a directory with a %s is a project',
  async (file) => {
    expect(projectDatabase(await project('jobs', file))).toMatch(/^jobs_/);
  },
);

test('two projects of the same name have two databases', async () => {
  expect(projectDatabase(await project('shop'))).not.toBe(projectDatabase(await project('shop')));
});

test('a project has one database by whatever link it is entered', async () => {
  const directory = await project('shop');
  const link = join(await temporaryDirectory(), 'link');
  await symlink(directory, link);
  expect(projectDatabase(link)).toBe(projectDatabase(directory));
});

test.for(['店', 'x'.repeat(200), '__', 'Ünïcode'])('the name for %s fits into Postgres', async (name) => {
  const database = projectDatabase(await project(name));
  expect(database).toMatch(/^[a-z][a-z0-9_]*_[0-9a-f]{8}$/);
  expect(Buffer.byteLength(database)).toBeLessThanOrEqual(63);
});
