import { existsSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { userPaths } from './user-paths.ts';

/**
 * Returns a directory below the user's cache directory (XDG_CACHE_HOME, or ~/.cache) for code that a later process will
 * run; creates it if need be. Returns undefined where another user could plant code in it, where it cannot be created,
 * and on Windows, whose permissions Node does not show.
 */
export function privateCache(name: string): string | undefined {
  const uid = process.getuid?.();
  if (uid === undefined) return undefined;
  const directory = join(userPaths().cache, name);
  try {
    // Check this first: root, with the HOME of another user, would otherwise create a directory owned by root there.
    if (!isPrivate(nearestExisting(directory), uid)) return undefined;
    create(directory);
    return isPrivate(directory, uid) && isClosed(directory) ? directory : undefined;
  } catch {
    return undefined; // A read-only system, or a home that does not exist: it works without a cache.
  }
}

/** Whether only this user and root can replace the directory, or one that it is in. */
function isPrivate(directory: string, uid: number): boolean {
  let path = realpathSync(directory);
  for (;;) {
    const { uid: owner, mode } = statSync(path);
    if ((owner !== uid && owner !== 0) || (isOpen(mode) && !isSticky(mode))) return false;
    if (dirname(path) === path) return true;
    path = dirname(path);
  }
}

function isClosed(directory: string): boolean {
  return !isOpen(statSync(directory).mode);
}

/** Whether the group or others may write. */
function isOpen(mode: number): boolean {
  return (mode & 0o022) !== 0;
}

/** Whether, as in /tmp, one may rename and delete only what is one's own. */
function isSticky(mode: number): boolean {
  return (mode & 0o1000) !== 0;
}

/** Not `recursive`, with which Node tries forever in /proc. */
function create(directory: string): void {
  if (existsSync(directory)) return;
  create(dirname(directory));
  mkdirSync(directory, { mode: 0o700 });
}

function nearestExisting(path: string): string {
  return existsSync(path) ? path : nearestExisting(dirname(path));
}
