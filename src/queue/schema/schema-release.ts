import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { packageRoot } from '../../lib/package-root.ts';
import { headComment } from './head-comment.ts';

/** Where this package has its migrations, its functions and release.json. */
export const SQL = join(packageRoot(), 'sql');

/** The functions, views and rights that this binary brings, applied together under one number. */
export interface SchemaRelease {
  /** Rises with every change below sql/functions. */
  readonly number: number;
  /** The lowest release number of a binary that can work with these functions. */
  readonly oldestClient: number;
  readonly functionsHash: string;
}

/** Read the release of this binary's functions from sql/release.json. */
export async function readRelease(sql = SQL): Promise<SchemaRelease> {
  const release = JSON.parse(await readFile(join(sql, 'release.json'), 'utf8')) as {
    number: number;
    oldest_client: number;
    functions_hash: string;
  };
  return {
    number: release.number,
    oldestClient: release.oldest_client,
    functionsHash: release.functions_hash,
  };
}

/** The number of the latest migration of this package: they are numbered from 1, without a gap. */
export async function latestMigration(): Promise<number> {
  return (await sqlFilesOf(join(SQL, 'migrations'))).length;
}

/** A function or a view, as its file defines it. */
export interface SqlFunction {
  readonly name: string;
  readonly text: string;
  /** Its file is in api/: clients call it. Only functions call those in internal/. */
  readonly isPublic: boolean;
}

/** Get the comment of a function or a view that clients may use; null for the others. */
export function commentOf({ text, isPublic }: SqlFunction): string | null {
  return isPublic ? headComment(text) : null;
}

/** Read the text of every file below sql/functions, by name. */
export async function readFunctions(sql = SQL): Promise<SqlFunction[]> {
  const directory = join(sql, 'functions');
  const files = await Promise.all(
    ROOMS.map(async (room) => (await sqlFilesOf(join(directory, room))).map((file) => ({ room, file }))),
  );
  const functions = files.flat().map(async ({ room, file }) => ({
    name: basename(file, '.sql'),
    text: await readFile(join(directory, room, file), 'utf8'),
    isPublic: room === 'api',
  }));
  return (await Promise.all(functions)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Compute `functions_hash`: SHA-256 over the names and texts, in the order of the names. */
export function hashFunctions(functions: readonly { name: string; text: string }[]): string {
  const hash = createHash('sha256');
  for (const { name, text } of functions) hash.update(`${name}\n${text}\n`);
  return hash.digest('hex');
}

const ROOMS = ['api', 'internal'] as const;

async function sqlFilesOf(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => name.endsWith('.sql'));
}
