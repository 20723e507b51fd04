import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where this package has its migrations, its functions and release.json. */
export const SQL = fileURLToPath(new URL('../../sql/', import.meta.url));

/** The functions, views and rights that this binary brings, applied together under one number. */
export interface SchemaRelease {
  /** Rises with every change below sql/functions. */
  readonly number: number;
  /** The least release number of a binary that can work with these functions. */
  readonly oldestClient: number;
  readonly functionsHash: string;
}

/** Read what sql/release.json says of this binary's functions. */
export async function readRelease(sql = SQL): Promise<SchemaRelease> {
  const said = JSON.parse(await readFile(join(sql, 'release.json'), 'utf8')) as {
    number: number;
    oldest_client: number;
    functions_hash: string;
  };
  return { number: said.number, oldestClient: said.oldest_client, functionsHash: said.functions_hash };
}

/** The number of the latest migration of this package: they are numbered from 1, without a gap. */
export async function latestMigration(): Promise<number> {
  return (await sqlFilesOf(join(SQL, 'migrations'))).length;
}

/** The text of every file below sql/functions, by name. */
export async function readFunctions(sql = SQL): Promise<{ name: string; text: string }[]> {
  const directory = join(sql, 'functions');
  const names = (await sqlFilesOf(directory)).sort();
  return Promise.all(
    names.map(async (name) => ({
      name: basename(name, '.sql'),
      text: await readFile(join(directory, name), 'utf8'),
    })),
  );
}

/** What `functions_hash` has to be: SHA-256 over the names and texts, in the order of the names. */
export function hashFunctions(functions: readonly { name: string; text: string }[]): string {
  const hash = createHash('sha256');
  for (const { name, text } of functions) hash.update(`${name}\n${text}\n`);
  return hash.digest('hex');
}

async function sqlFilesOf(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => name.endsWith('.sql'));
}
