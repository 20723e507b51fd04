import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** A stamp per path; it changes with the file. */
type Stamps = ReadonlyMap<string, string>;

/** The state of a directory, and of files elsewhere, at one moment. */
export interface Snapshot {
  readonly inside: Stamps;
  /** A missing file has an empty stamp. */
  readonly elsewhere: Stamps;
}

/**
 * Records the state of a directory's files that `isMeant` accepts by name and mode, and of the given files elsewhere.
 * Skips node_modules and names that start with a dot; records links without following them. A directory that does not
 * exist is empty.
 */
export async function takeSnapshot(
  directory: string,
  elsewhere: Iterable<string>,
  isMeant: (name: string, mode: number) => boolean,
): Promise<Snapshot> {
  const inside = new Map<string, string>();
  await walk(directory, inside, isMeant);
  const others = [...elsewhere].filter((path) => !path.startsWith(join(directory, '/')));
  const stamps = await Promise.all(
    others.map(async (path) => [path, (await stampOf(path))?.stamp ?? ''] as const),
  );
  return { inside, elsewhere: new Map(stamps) };
}

/**
 * Returns the paths of files that were added, removed or changed between two snapshots, sorted. A file elsewhere counts
 * only if both snapshots recorded it.
 */
export function changesBetween(before: Snapshot, after: Snapshot): string[] {
  const paths = new Set([...before.inside.keys(), ...after.inside.keys()]);
  const inside = [...paths].filter((path) => before.inside.get(path) !== after.inside.get(path));
  const elsewhere = [...after.elsewhere].filter(
    ([path, stamp]) => (before.elsewhere.get(path) ?? stamp) !== stamp,
  );
  return [...inside, ...elsewhere.map(([path]) => path)].sort();
}

async function walk(
  directory: string,
  stamps: Map<string, string>,
  isMeant: (name: string, mode: number) => boolean,
): Promise<void> {
  const names = await readdir(directory).catch(() => []); // it may be gone, or just being replaced
  await Promise.all(
    names.map(async (name) => {
      if (name.startsWith('.') || name === 'node_modules') return;
      const path = join(directory, name);
      const found = await stampOf(path);
      if (found === undefined) return;
      if (found.isDirectory) await walk(path, stamps, isMeant);
      else if (isMeant(name, found.mode)) stamps.set(path, found.stamp);
    }),
  );
}

interface Stamped {
  readonly stamp: string;
  readonly mode: number;
  readonly isDirectory: boolean;
}

/** Saving by rename changes the inode. An edit that keeps size and times goes unnoticed. */
async function stampOf(path: string): Promise<Stamped | undefined> {
  try {
    const about = await lstat(path, { bigint: true });
    const { ino, size, mtimeNs, ctimeNs, mode } = about;
    const stamp = [ino, size, mtimeNs, ctimeNs, mode].join(':');
    return { stamp, mode: Number(mode), isDirectory: about.isDirectory() };
  } catch {
    return undefined;
  }
}
