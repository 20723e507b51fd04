import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { inject } from 'vitest';
import { resetServer } from '../../src/embedded/reset.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const made = new Set<string>();

/** Makes an empty state directory. The test file says `afterEach(removeStateDirectories)`. */
export async function emptyStateDirectory(): Promise<string> {
  const stateDir = await mkdtemp(join(runDirectory(), 'state-'));
  made.add(stateDir);
  return stateDir;
}

/**
 * Makes one with the binaries already copied, which saves most of a first start: those of the run's own server.
 * With a name, it is a directory of this name.
 */
export async function stateDirectory(name?: string): Promise<string> {
  const stateDir = name === undefined ? await emptyStateDirectory() : join(await temporaryDirectory(), name);
  made.add(stateDir);
  await mkdir(stateDir, { recursive: true });
  await symlink(join(runDirectory(), 'server', 'bin'), join(stateDir, 'bin'));
  return stateDir;
}

/** Where the next run looks for servers that this one, if it is killed, leaves behind. */
function runDirectory(): string {
  return dirname(inject('scratchDirectory'));
}

/** Stops every server that runs in one of these directories, whatever a test did to it, and deletes them. */
export async function removeStateDirectories(): Promise<void> {
  for (const stateDir of [...made].reverse()) {
    await resetServer({ stateDir });
    await rm(stateDir, { recursive: true, force: true });
    made.delete(stateDir);
  }
}
