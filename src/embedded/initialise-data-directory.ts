import { chmod, chown, mkdtemp, rename, rm } from 'node:fs/promises';
import { TaskqError } from '../lib/errors.ts';
import { type Account, asAccount, isRoot } from './account.ts';
import { draftOf, removeDrafts } from './files.ts';
import { type Layout, ROLE } from './layout.ts';
import type { Binaries } from './locate-binaries.ts';
import { ProgramFailed, run } from './run.ts';

/**
 * Creates a new, empty cluster in `dataDir`. It appears at once, by a rename, so a start that is killed midway leaves
 * nothing that looks like data. The caller holds the start lock. Throws TaskqError if initdb fails.
 *
 * Everyone who can reach the socket is trusted: its directory is closed to all but root and the server's user, who owns
 * the data files anyway. `peer` would refuse root, and a password would have to be stored beside the socket.
 */
export async function initialiseDataDirectory(
  layout: Layout,
  dataDir: string,
  binaries: Binaries,
  account: Account,
): Promise<void> {
  await removeDrafts(dataDir);
  const fresh = await mkdtemp(draftOf(dataDir));
  try {
    await chmod(fresh, 0o700);
    if (isRoot()) await chown(fresh, account.uid, account.gid);
    await run(binaries.initdb, [...INITDB, '--pgdata', fresh], asAccount(account));
    await rename(fresh, dataDir);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    if (!(error instanceof ProgramFailed)) throw error;
    throw new TaskqError('embedded_initdb_failed', `initdb in ${layout.stateDir} failed: ${error.output}`, {
      cause: error,
    });
  }
}

const INITDB = [
  `--username=${ROLE}`,
  '--auth-local=trust',
  '--auth-host=reject',
  '--encoding=UTF8',
  '--locale=C',
  '--no-instructions',
];
