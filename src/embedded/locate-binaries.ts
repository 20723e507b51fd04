import { join } from 'node:path';
import { TaskqError } from '../lib/errors.ts';
import { messageOf } from '../lib/thrown.ts';
import { copyBinaries } from './copy-binaries.ts';
import { draftOf, exists, namesIn, removeDrafts } from './files.ts';
import type { Layout } from './layout.ts';
import { locatePackage, packageMissing } from './locate-package.ts';
import { ProgramFailed, run } from './run.ts';
import type { EmbeddedOptions } from './server.ts';

/** The programs of one PostgreSQL installation. */
export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
  /** The major version, which a data directory is bound to: 18. */
  readonly major: number;
}

/**
 * Finds the binaries to run: those in `options.binDir`, or else our copy of the packaged ones, created now if missing.
 * Without the package, uses the newest copy made by any project of this user. Throws TaskqError if there is none. The
 * caller holds the start lock.
 */
export async function locateBinaries(layout: Layout, options: EmbeddedOptions): Promise<Binaries> {
  if (options.binDir !== undefined) return programsIn(options.binDir, await majorOf(options.binDir));
  const source = await locatePackage(options.packageDir);
  const version = source?.version ?? (await newestCopy(layout));
  if (version === undefined) throw packageMissing();
  const copy = join(layout.copiesDir, version);
  if (source && !(await exists(copy))) {
    options.onProgress?.('copying binaries');
    await removeDrafts(copy);
    await copyBinaries(source, copy);
  }
  return programsIn(join(copy, 'bin'), Number.parseInt(version, 10));
}

function programsIn(directory: string, major: number): Binaries {
  return { postgres: join(directory, 'postgres'), initdb: join(directory, 'initdb'), major };
}

/** `postgres --version` prints `postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)`. */
async function majorOf(directory: string): Promise<number> {
  try {
    const output = await run(join(directory, 'postgres'), ['--version']);
    return Number(/\(PostgreSQL\) (\d+)/.exec(output)?.[1]);
  } catch (error) {
    const reason = error instanceof ProgramFailed ? error.output : messageOf(error);
    throw new TaskqError('embedded_no_binaries', `No PostgreSQL runs from ${directory}: ${reason}`, {
      cause: error,
    });
  }
}

async function newestCopy(layout: Layout): Promise<string | undefined> {
  const versions = (await namesIn(layout.copiesDir)).filter((name) => !name.includes(draftOf('')));
  return versions.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1);
}
