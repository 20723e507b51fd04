import { lstat, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Whether the path exists, even as a dangling link. */
export async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** Returns the names in a directory; none if it does not exist. */
export async function namesIn(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}

/** Returns the prefix of a directory's name until it is complete and renamed; `mkdtemp` adds six letters. */
export function draftOf(target: string): string {
  return `${target}.new-`;
}

/** Removes drafts of `target` that killed processes left. The caller holds the start lock. */
export async function removeDrafts(target: string): Promise<void> {
  const prefix = draftOf(basename(target));
  for (const name of await namesIn(dirname(target))) {
    if (name.startsWith(prefix)) await rm(join(dirname(target), name), { recursive: true, force: true });
  }
}
