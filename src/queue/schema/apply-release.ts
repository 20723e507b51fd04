import type { loadMigrationFiles } from 'postgres-migrations';
import type { Client } from '../../lib/connect.ts';
import { createSchemas, readInstalled } from './additions.ts';
import { findHolders, grantAdded } from './kinds-of-roles.ts';
import { hashOf, type ReleasedObject, readObjects } from './released-objects.ts';
import { dropObject, replaceObject } from './replace-object.ts';
import { hashRelease, nameInRelease, readFunctions, readRelease } from './schema-release.ts';

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
  const { rows: before } = await client.query<{ oid: string }>(`select oid::text from (${GRANTABLE}) as o`);
  await client.query(`set local search_path = ${schema}`);
  await client.query(sql);
  await client.query('set local search_path = pg_catalog, pg_temp');
  const { rows: made } = await client.query<{ name: string }>(
    `select name from (${GRANTABLE}) as o where oid <> all($1)`,
    [before.map(({ oid }) => oid)],
  );
  for (const { name } of made) await client.query(`revoke all on ${name} from public`);
}

/** The tables, views and functions of the schema, named as `grant` does. */
const GRANTABLE = `
  select c.oid, 'table ' || c.oid::regclass::text as name from pg_class c
  where c.relnamespace = to_regnamespace('taskq') and c.relkind in ('r', 'p', 'v', 'm')
  union all
  select p.oid, 'function ' || p.oid::regprocedure::text from pg_proc p
  where p.pronamespace = to_regnamespace('taskq') and p.prokind = 'f'`;

/**
 * Bring functions and views up to the release, those of installed additions too, and drop those that it no longer has.
 * Change only what differs: replacing a view takes a lock that waits for every reader and blocks every later one.
 */
export async function applyFunctions(client: Client, sql: string): Promise<void> {
  const release = await readRelease(sql);
  const installed = await readInstalled(client, sql);
  const functions = [...(await readFunctions(sql)), ...installed];
  const earlier = await readObjects(client);
  const holders = await findHolders(client, Object.keys(earlier));
  const objects: Record<string, ReleasedObject> = {};
  // Bodies call each other in any order of files; the tests check them.
  await client.query('set local check_function_bodies = off');
  await createSchemas(client, installed);
  for (const one of functions) {
    const name = nameInRelease(one);
    const [hash, last] = [hashOf(one.text), earlier[name]];
    objects[name] =
      last?.hash === hash ? last : { hash, signature: await replaceObject(client, one, last?.signature) };
  }
  for (const [name, last] of Object.entries(earlier)) {
    if (objects[name] !== undefined) continue;
    // If someone has dropped the main schema of an addition, its other objects stay ours, for a new installation.
    if (name.includes('.') && !installed.some(({ schema }) => name.startsWith(`${schema}.`)))
      objects[name] = last;
    else await dropObject(client, name, last.signature);
  }
  await grantAdded(
    client,
    holders,
    functions.filter(({ schema, name }) => schema === 'taskq' && earlier[name] === undefined),
  );
  await client.query(
    `insert into taskq.release (number, functions_hash, objects, oldest_client, applied_at)
     values ($1, $2, $3, $4, clock_timestamp())
     on conflict (only_row) do update set number = excluded.number, functions_hash = excluded.functions_hash,
       objects = excluded.objects, oldest_client = excluded.oldest_client, applied_at = excluded.applied_at`,
    [release.number, await hashRelease(sql), JSON.stringify(objects), release.oldestClient],
  );
  await client.query('select taskq.ensure_partitions()');
}
