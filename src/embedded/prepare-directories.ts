import { access, chmod, chown, constants, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { TaskqError } from '../lib/errors.ts';
import { messageOf } from '../lib/thrown.ts';
import { type Account, isRoot } from './account.ts';
import type { Layout } from './layout.ts';

/**
 * Creates the state directory, closed to others. Root's can be entered and remains root's own: otherwise the server's
 * user could put links where root writes. Throws TaskqError if it cannot be created or written.
 */
export async function prepareStateDirectory(layout: Layout): Promise<void> {
  try {
    await mkdir(layout.stateDir, { recursive: true, mode: isRoot() ? 0o755 : 0o700 });
    await access(layout.stateDir, constants.W_OK | constants.X_OK);
  } catch (error) {
    const reason = messageOf(error);
    throw new TaskqError(
      'embedded_state_dir',
      `The local database cannot use ${layout.stateDir}: ${reason}`,
      {
        hint: 'Make it writable, or choose another state directory',
        cause: error,
      },
    );
  }
}

/**
 * Creates the socket's directory, for the account alone. Throws TaskqError if the account may not enter a directory
 * above it.
 */
export async function prepareSocketDirectory(layout: Layout, account: Account): Promise<void> {
  await mkdir(layout.socketDir, { recursive: true, mode: 0o700 });
  await chmod(layout.socketDir, 0o700);
  if (!isRoot()) return;
  await chown(layout.socketDir, account.uid, account.gid);
  const { mode } = await stat(layout.stateDir);
  if (!(await mayEnter(layout.stateDir, account))) await chmod(layout.stateDir, (mode & 0o777) | 0o011);
  for (let path = layout.stateDir; path !== dirname(path); path = dirname(path)) {
    if (await mayEnter(path, account)) continue;
    throw new TaskqError(
      'embedded_state_dir',
      `User ${account.name}, who runs the local database for root, may not enter ${path}`,
      { hint: `Choose another state directory, or run chmod o+x ${path}` },
    );
  }
}

async function mayEnter(directory: string, account: Account): Promise<boolean> {
  const { uid, gid, mode } = await stat(directory);
  if (uid === account.uid) return (mode & 0o100) !== 0;
  if (gid === account.gid) return (mode & 0o010) !== 0;
  return (mode & 0o001) !== 0;
}
