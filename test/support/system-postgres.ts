import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/** The system's own PostgreSQL: the oldest that we test on, if it is Debian's 15. */
export interface SystemPostgres {
  readonly binDir: string;
  readonly major: number;
}

/**
 * Finds the system's server programs: on the PATH, following links, or else where Debian installs them. Undefined if
 * there are none.
 */
export function findSystemPostgres(path: string): SystemPostgres | undefined {
  const onPath = path.split(delimiter).map((directory) => join(directory, 'initdb'));
  for (const initdb of [...onPath, ...debianInitdbs()]) {
    if (!existsSync(initdb)) continue;
    const binDir = dirname(realpathSync(initdb)); // a wrapper's own directory contains no server
    const major = majorOf(join(binDir, 'postgres'));
    if (major !== undefined) return { binDir, major };
  }
  return undefined;
}

function debianInitdbs(): readonly string[] {
  const root = '/usr/lib/postgresql';
  return existsSync(root) ? readdirSync(root).map((version) => join(root, version, 'bin', 'initdb')) : [];
}

function majorOf(postgres: string): number | undefined {
  if (!existsSync(postgres)) return undefined;
  const printed = execFileSync(postgres, ['--version'], { encoding: 'utf8' });
  const major = /\(PostgreSQL\) (\d+)/.exec(printed)?.[1];
  return major === undefined ? undefined : Number(major);
}
