import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TaskqError } from '../lib/errors.ts';
import { exists, namesIn } from './files.ts';
import type { Layout } from './layout.ts';

/** Where the data of this major version lives, be it there or not. */
export function dataDirectory(layout: Layout, major: number): string {
  return join(layout.stateDir, `pg${major}`);
}

/** Every data directory that is there, of whatever major version. */
export async function dataDirectories(layout: Layout): Promise<readonly string[]> {
  const names = await namesIn(layout.stateDir);
  return names.filter((name) => /^pg\d+$/.test(name)).map((name) => join(layout.stateDir, name));
}

/** Whether initdb has finished here. */
export async function isInitialised(dataDir: string): Promise<boolean> {
  return exists(join(dataDir, 'PG_VERSION'));
}

/** Fails when all the data here is of another major version: a fresh directory beside it would hide every task. */
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

/** The pid that the server in this directory wrote down, alive or not; undefined when it wrote none. */
export async function recordedPid(dataDir: string): Promise<number | undefined> {
  const text = await readFile(join(dataDir, 'postmaster.pid'), 'utf8').catch(() => '');
  // Single-user mode writes its pid negative.
  const pid = Math.abs(Number.parseInt(text, 10));
  return pid > 0 ? pid : undefined;
}
