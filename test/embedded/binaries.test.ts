import { cp, lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { copyBinaries } from '../../src/embedded/copy-binaries.ts';
import { locatePackage } from '../../src/embedded/locate-package.ts';
import { startEmbedded } from '../../src/embedded/start.ts';
import { stopEmbedded } from '../../src/embedded/stop.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { query } from './query.ts';
import { emptyStateDirectory, removeStateDirectories } from './state-directory.ts';

afterEach(removeStateDirectories);

/** The package as `npm install --ignore-scripts` leaves it: without links. */
async function packageWithoutLinks(): Promise<string> {
  const source = await locatePackage();
  const directory = join(await temporaryDirectory(), 'package');
  await cp(source!.directory, directory, {
    recursive: true,
    filter: async (path) => !(await lstat(path)).isSymbolicLink(),
  });
  return directory;
}

test('the server starts from a package whose install scripts did not run, and starts again after the package was deleted', async () => {
  const packageDir = await packageWithoutLinks();
  const stateDir = await emptyStateDirectory();
  const server = await startEmbedded({ stateDir, packageDir });
  expect(await query(server, 'select 1 as one')).toEqual([{ one: 1 }]);
  await rm(packageDir, { recursive: true });
  // In a new session.
  expect(await query(server, `select 'é' ~ '\\w' as runs`)).toEqual([{ runs: expect.any(Boolean) }]);
  expect(await stopEmbedded({ stateDir })).toBe('stopped');
  const restarted = await startEmbedded({ stateDir, packageDir });
  expect(await query(restarted, 'select 1 as one')).toEqual([{ one: 1 }]);
});

test('the leftovers of a start killed while copying the binaries are removed by the next start', async () => {
  const stateDir = await emptyStateDirectory();
  const [source, copies] = [await locatePackage(), join(stateDir, 'bin')];
  await mkdir(join(copies, `${source!.version}.new-abcdef`, 'bin'), { recursive: true });
  await startEmbedded({ stateDir });
  expect(await readdir(copies)).toEqual([source!.version]);
});

test('many that copy the binaries at once leave one complete copy', async () => {
  const source = await locatePackage();
  const parent = await temporaryDirectory();
  await Promise.all(Array.from({ length: 4 }, () => copyBinaries(source!, join(parent, 'copy'))));
  expect(await readdir(parent)).toEqual(['copy']);
  const original = await readdir(join(source!.directory, 'native'), { recursive: true });
  const copied = await readdir(join(parent, 'copy'), { recursive: true });
  expect(copied.sort()).toEqual(original.sort());
});
