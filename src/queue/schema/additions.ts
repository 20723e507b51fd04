import type { Client } from '../../lib/connect.ts';
import { TaskqError } from '../../lib/errors.ts';
import { hashOf, type ReleasedObject, readObjects, recordObjects } from './released-objects.ts';
import { replaceObject } from './replace-object.ts';
import {
  ADDITIONS,
  type Addition,
  nameInRelease,
  readAddition,
  readInstallation,
  type SqlFunction,
} from './schema-release.ts';

/** The additions that are installed: each has made something in its main schema, and the schema is still there. */
export async function installedAdditions(client: Client): Promise<Addition[]> {
  const schemas = await schemasOfReleases(client);
  const { rows } = await client.query<{ schema: string }>(
    'select nspname as schema from pg_namespace where nspname = any($1)',
    [schemas],
  );
  return ADDITIONS.filter((addition) => rows.some(({ schema }) => schema === addition));
}

/** The schemas, other than taskq, in which releases have made something. */
async function schemasOfReleases(client: Client): Promise<string[]> {
  const names = Object.keys(await readObjects(client));
  return [...new Set(names.filter((name) => name.includes('.')).map((name) => name.split('.')[0]!))];
}

/** Read the objects of the installed additions in this release. */
export async function readInstalled(client: Client, sql: string): Promise<SqlFunction[]> {
  const additions = await installedAdditions(client);
  return (await Promise.all(additions.map((addition) => readAddition(addition, sql)))).flat();
}

/** Throws `schema_occupied` if a schema that an addition needs exists and is not ours. */
export async function refuseOthersSchemas(client: Client, addition: Addition, sql: string): Promise<void> {
  const ours = await schemasOfReleases(client);
  const needed = new Set((await readAddition(addition, sql)).map(({ schema }) => schema));
  const { rows } = await client.query<{ schema: string }>(
    'select nspname as schema from pg_namespace where nspname = any($1) and nspname <> all($2) order by 1',
    [[...needed], ours],
  );
  if (rows.length === 0) return;
  const names = rows.map(({ schema }) => schema);
  throw new TaskqError(
    'schema_occupied',
    `nothing was changed: schema ${names.join(' and schema ')} ${names.length === 1 ? 'is' : 'are'} not taskq's, ` +
      `and ${addition} needs ${names.length === 1 ? 'it' : 'them'}`,
    {
      hint: `rename and migrate again: ${names.map((name) => `alter schema ${name} rename to …`).join('; ')}`,
    },
  );
}

/** Install an addition into the release that was just applied. */
export async function applyAddition(client: Client, addition: Addition, sql: string): Promise<void> {
  const earlier = await readObjects(client);
  const parts = await readAddition(addition, sql);
  await createSchemas(client, parts);
  const objects: Record<string, ReleasedObject> = { ...earlier };
  await client.query('set local check_function_bodies = off');
  for (const part of parts) {
    const name = nameInRelease(part);
    const signature = await replaceObject(client, part, earlier[name]?.signature);
    objects[name] = { hash: hashOf(part.text), signature };
  }
  await recordObjects(client, objects);
  await client.query(await readInstallation(addition, sql));
}

/**
 * Make the missing schemas that these objects need, owned by the role that owns the release. That role may lack the
 * right to create one, while the session's own role may have it.
 */
export async function createSchemas(client: Client, parts: readonly SqlFunction[]): Promise<void> {
  const { rows } = await client.query<{ owner: string; creator: string }>(
    `select quote_ident(current_user) as owner,
       case when has_database_privilege(current_database(), 'create') then quote_ident(current_user) else 'none' end
         as creator`,
  );
  const { owner, creator } = rows[0]!;
  for (const schema of new Set(parts.map((part) => part.schema))) {
    const { rows: found } = await client.query<{ absent: boolean }>(
      'select to_regnamespace($1) is null as absent',
      [schema],
    );
    if (!found[0]!.absent) continue;
    await client.query(`set local role ${creator}`);
    await client.query(`create schema ${schema} authorization ${owner}`);
    await client.query(`set local role ${owner}`);
  }
}
