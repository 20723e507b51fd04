import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TaskqError } from '../lib/errors.ts';
import { exists, namesIn } from './files.ts';
import type { Layout } from './layout.ts';

/** Returns the data directory of this major version, whether or not it exists. */
export function dataDirectory(layout: Layout, major: number): string {
  return join(layout.stateDir, `pg${major}`);
}

/** Returns every existing data directory, of any major version. */
export async function dataDirectories(layout: Layout): Promise<readonly string[]> {
  const names = await namesIn(layout.stateDir);
  return names.filter((name) => /^pg\d+$/.test(name)).map((name) => join(layout.stateDir, name));
}

/** Whether initdb has finished here. */
export async function isInitialised(dataDir: string): Promise<boolean> {
  return exists(join(dataDir, 'PG_VERSION'));
}

/**
 * Throws TaskqError if all existing data is of another major version: a new directory beside it would hide every task.
 */
export async function refuseOtherMajor(layout: Layout, major: number): Promise<void> {
  const others = await dataDirectories(layout);
  if (others.length === 0 || others.includes(dataDirectory(layout, major))) return;
  const theirs = others.map((directory) => directory.replace(/^.*pg/, '')).join(', ');
  throw new TaskqError(
    'embedded_other_major',
    `The local database in ${others.join(', ')} was created by PostgreSQL ${theirs}, and this taskq has ${major}`,
    {
      hint: `Dump it with the taskq version that created it and restore it here, or delete it with taskq db reset --server`,
    },
  );
}

/** Returns the pid that the server in this directory recorded, alive or not; undefined if it recorded none. */
export async function recordedPid(dataDir: string): Promise<number | undefined> {
  const text = await readFile(join(dataDir, 'postmaster.pid'), 'utf8').catch(() => '');
  // Single-user mode writes its pid negative.
  const pid = Math.abs(Number.parseInt(text, 10));
  return pid > 0 ? pid : undefined;
}
