import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { badOption } from '../../lib/bad-option.ts';
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
  readonly schema: string;
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
    schema: 'taskq',
    name: basename(file, '.sql'),
    text: await readFile(join(directory, room, file), 'utf8'),
    isPublic: room === 'api',
  }));
  return (await Promise.all(functions)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** What `migrate` installs on request beside the schema `taskq`, and from then on upgrades with it. */
export const ADDITIONS = ['queues'] as const;

export type Addition = (typeof ADDITIONS)[number];

/** Read the names of additions as a user gives them; `what` is the option. Throws `bad_option`. */
export function checkedAdditions(names: readonly string[], what: string): Addition[] {
  return names.map((name) => {
    const known = ADDITIONS.find((addition) => addition === name);
    if (known !== undefined) return known;
    throw badOption(`${what} ${JSON.stringify(name)}: expected ${ADDITIONS.join(' or ')}`);
  });
}

/**
 * Read what an addition makes, from sql/with/<addition>/<schema>/<name>.sql: views first, because functions return
 * their rows. Its main schema has its own name.
 */
export async function readAddition(addition: Addition, sql = SQL): Promise<SqlFunction[]> {
  const directory = join(sql, 'with', addition);
  const entries = await readdir(directory, { withFileTypes: true });
  const schemas = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const objects = await Promise.all(
    schemas.map(async (schema) => {
      const files = await sqlFilesOf(join(directory, schema));
      return Promise.all(
        files.map(async (file) => ({
          schema,
          name: basename(file, '.sql'),
          text: await readFile(join(directory, schema, file), 'utf8'),
          isPublic: true,
        })),
      );
    }),
  );
  const isFunction = ({ text }: SqlFunction): number => (/^create or replace function /m.test(text) ? 1 : 0);
  return objects
    .flat()
    .sort((a, b) => isFunction(a) - isFunction(b) || (nameInRelease(a) < nameInRelease(b) ? -1 : 1));
}

/** Read what each addition makes. */
export async function readAdditions(sql = SQL): Promise<Record<Addition, SqlFunction[]>> {
  const read = ADDITIONS.map(async (addition) => [addition, await readAddition(addition, sql)] as const);
  return Object.fromEntries(await Promise.all(read)) as Record<Addition, SqlFunction[]>;
}

/** Read the statements that an addition runs once, when it is installed. */
export function readInstallation(addition: Addition, sql = SQL): Promise<string> {
  return readFile(join(sql, 'with', addition, 'install.sql'), 'utf8');
}

/** The name under which taskq.release records an object: those of additions have their schema in it. */
export function nameInRelease({ schema, name }: Pick<SqlFunction, 'schema' | 'name'>): string {
  return schema === 'taskq' ? name : `${schema}.${name}`;
}

/** Compute `functions_hash`: SHA-256 over the names and texts of all functions and views, additions included. */
export async function hashRelease(sql = SQL): Promise<string> {
  const additions = Object.values(await readAdditions(sql));
  const hash = createHash('sha256');
  for (const one of [await readFunctions(sql), ...additions].flat())
    hash.update(`${nameInRelease(one)}\n${one.text}\n`);
  return hash.digest('hex');
}

const ROOMS = ['api', 'internal'] as const;

async function sqlFilesOf(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => name.endsWith('.sql'));
}
