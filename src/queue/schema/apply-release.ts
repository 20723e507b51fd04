import { createHash } from 'node:crypto';
import type { loadMigrationFiles } from 'postgres-migrations';
import type { Client } from '../../lib/connect.ts';
import { dropObject, replaceObject } from './replace-object.ts';
import { hashFunctions, readFunctions, readRelease } from './schema-release.ts';

/**
 * A migration as postgres-migrations reads and hashes it. Number 0 is its own: it makes the table that lists the
 * others.
 */
type Migration = Awaited<ReturnType<typeof loadMigrationFiles>>[number];

/** Make the schema if it is absent (a role that may not create one can still migrate an existing one), and the list. */
export async function createSchema(client: Client, list: Migration): Promise<void> {
  const { rows } = await client.query<{ absent: boolean }>(
    "select to_regnamespace('taskq') is null as absent",
  );
  if (rows[0]!.absent) await client.query('create schema taskq');
  await runIn(client, 'taskq', list.sql);
  await client.query(`${NOTE} on conflict (id) do nothing`, [list.id, list.name, list.hash]);
}

/** Run a migration and record it. */
export async function runMigration(client: Client, { id, name, hash, sql }: Migration): Promise<void> {
  await runIn(client, 'taskq', sql);
  await client.query(NOTE, [id, name, hash]);
}

const NOTE = 'insert into taskq.migrations (id, name, hash) values ($1, $2, $3)';

async function runIn(client: Client, schema: string, sql: string): Promise<void> {
  await client.query(`set local search_path = ${schema}`);
  await client.query(sql);
  await client.query('set local search_path = pg_catalog, pg_temp');
}

/**
 * Bring functions, views and rights up to the release, and drop those that it no longer has. Change only what differs:
 * replacing a view takes a lock that waits for every reader and blocks every later one.
 */
export async function applyFunctions(client: Client, sql: string): Promise<void> {
  const release = await readRelease(sql);
  const functions = await readFunctions(sql);
  const { rows } = await client.query<{ objects: Record<string, string> }>(
    'select objects from taskq.release',
  );
  const stored = rows[0]?.objects ?? {};
  const objects = Object.fromEntries(functions.map(({ name, text }) => [name, hashOf(text)]));
  // Bodies call each other in any order of files; the tests check them.
  await client.query('set local check_function_bodies = off');
  for (const one of functions) if (stored[one.name] !== objects[one.name]) await replaceObject(client, one);
  for (const name of Object.keys(stored)) if (objects[name] === undefined) await dropObject(client, name);
  await client.query('revoke all on all functions in schema taskq from public');
  await client.query('revoke all on all tables in schema taskq from public');
  await client.query(
    `insert into taskq.release (number, functions_hash, objects, oldest_client, applied_at)
     values ($1, $2, $3, $4, clock_timestamp())
     on conflict (only_row) do update set number = excluded.number, functions_hash = excluded.functions_hash,
       objects = excluded.objects, oldest_client = excluded.oldest_client, applied_at = excluded.applied_at`,
    [release.number, hashFunctions(functions), JSON.stringify(objects), release.oldestClient],
  );
  await client.query('select taskq.ensure_partitions()');
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
