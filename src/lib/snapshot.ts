import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** What tells one state of a file from another, by path. */
type Stamps = ReadonlyMap<string, string>;

/** The state of a directory, and of files elsewhere, at one moment. */
export interface Snapshot {
  readonly inside: Stamps;
  /** A file that is not there has an empty stamp. */
  readonly elsewhere: Stamps;
}

/**
 * Note the state of the files of a directory that `isMeant` by name and mode, and of the given files elsewhere. Names
 * that start with a dot and node_modules are passed by; links are noted, not followed. A directory that does not
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

/** The paths whose files came, went or changed between two snapshots; a file elsewhere counts if both noted it. */
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
  const names = await readdir(directory).catch(() => []); // it may be gone, or be just now replaced
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

/** A save by rename is another inode; one that keeps size and time of change is none. */
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
