import {
  chmod,
  constants,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { draftOf, exists } from './files.ts';
import type { BinaryPackage } from './locate-package.ts';

/**
 * Creates `target` as a complete copy of the package's binaries, which every user may run. It appears at once, by a
 * rename, so many processes may do this at the same time: the first copy stays.
 */
export async function copyBinaries(source: BinaryPackage, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  await chmod(dirname(target), 0o755); // overrides the umask: the server's user must be able to enter
  const copy = await mkdtemp(draftOf(target));
  try {
    await cp(join(source.directory, 'native'), copy, {
      recursive: true,
      verbatimSymlinks: true,
      mode: constants.COPYFILE_FICLONE,
    });
    await linkLibraries(copy);
    await makeReadable(copy);
    await rename(copy, target);
  } catch (error) {
    if (!(await exists(target))) throw error;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** npm packs no links; the package creates them in a postinstall script, which `--ignore-scripts` skips. */
async function linkLibraries(copy: string): Promise<void> {
  const listed = await readFile(join(copy, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const link of JSON.parse(listed) as { source: string; target: string }[]) {
    const place = join(copy, relative('native', link.target));
    if (!(await exists(place))) await symlink(relative(dirname(link.target), link.source), place);
  }
}

/** With umask 077, root's node_modules is closed to the user that runs the server. */
async function makeReadable(copy: string): Promise<void> {
  await chmod(copy, 0o755);
  for (const entry of await readdir(copy, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const executable = entry.isDirectory() || basename(entry.parentPath) === 'bin';
    const mode = executable ? 0o755 : 0o644;
    if (((await stat(path)).mode & 0o777) !== mode) await chmod(path, mode);
  }
}
