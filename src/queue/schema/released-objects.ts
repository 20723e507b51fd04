import { createHash } from 'node:crypto';
import type { Client } from '../../lib/connect.ts';
import { TaskqError } from '../../lib/errors.ts';
import { nameInRelease, type SqlFunction } from './schema-release.ts';

/** A function or a view as a release made it, recorded in taskq.release. Objects not recorded there are not ours. */
export interface ReleasedObject {
  readonly hash: string;
  /** With schema and arguments, as PostgreSQL names it. */
  readonly signature: string;
}

/** Read what the installed release made, by name. Empty before the first release. */
export async function readObjects(client: Client): Promise<Readonly<Record<string, ReleasedObject>>> {
  const { rows: tables } = await client.query<{ release: string | null }>(
    "select to_regclass('taskq.release')::text as release",
  );
  if (tables[0]!.release === null) return {};
  const { rows } = await client.query<{ objects: Record<string, ReleasedObject> }>(
    'select objects from taskq.release',
  );
  return rows[0]?.objects ?? {};
}

/** Record the objects that the release has made since it was applied. */
export async function recordObjects(
  client: Client,
  objects: Readonly<Record<string, ReleasedObject>>,
): Promise<void> {
  await client.query('update taskq.release set objects = $1', [JSON.stringify(objects)]);
}

/** Compute the hash of the text of a function or a view. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/**
 * Throws `schema_occupied`, which names them, where functions or relations of others have the name of one that this
 * release creates or replaces. An overload counts as well: a call of ours could resolve to it.
 */
export async function refuseOthersObjects(client: Client, functions: readonly SqlFunction[]): Promise<void> {
  const earlier = await readObjects(client);
  const changed = functions.filter((one) => earlier[nameInRelease(one)]?.hash !== hashOf(one.text));
  const { rows } = await client.query<{ kind: string; signature: string }>(OTHERS, [
    changed.map(({ schema }) => schema),
    changed.map(({ name }) => name),
    changed.map((one) => earlier[nameInRelease(one)]?.signature ?? ''),
  ]);
  if (rows.length === 0) return;
  const list = rows.map(({ kind, signature }) => `${kind} ${signature}`);
  throw new TaskqError(
    'schema_occupied',
    `nothing was changed: ${list.join(' and ')} ${rows.length === 1 ? 'is' : 'are'} not taskq's, ` +
      'and this release has a function or view of that name',
    {
      hint: `rename it and migrate again: ${list.map((object) => `alter ${object} rename to …`).join('; ')}`,
    },
  );
}

const OTHERS = `
  select i.type as kind, o.signature
  from unnest($1::text[], $2::text[]) as ours (schema, name)
  cross join lateral (
    select 'pg_proc'::regclass as catalog, p.oid, p.oid::regprocedure::text as signature
    from pg_proc p where p.pronamespace = to_regnamespace(ours.schema) and p.proname = ours.name
    union all
    select 'pg_class'::regclass, c.oid, c.oid::regclass::text
    from pg_class c where c.relnamespace = to_regnamespace(ours.schema) and c.relname = ours.name
  ) as o
  cross join pg_identify_object(o.catalog, o.oid, 0) as i
  where o.signature <> all($3::text[])
  order by 2`;
