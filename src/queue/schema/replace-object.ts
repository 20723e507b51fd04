import type { Client } from '../../lib/connect.ts';
import { isServerError } from '../../lib/database.ts';
import type { SqlFunction } from './schema-release.ts';

/** A function or a view of the schema, and the rights on it of roles other than its owner. */
interface StoredObject {
  readonly oid: string;
  readonly kind: 'function' | 'view';
  /** With schema and arguments, as `drop` takes it. */
  readonly signature: string;
  readonly grants: readonly Grant[];
}

interface Grant {
  readonly privilege: string;
  /** Quoted where SQL needs it. */
  readonly role: string;
  readonly grantable: boolean;
}

/** PostgreSQL's errors where `or replace` would change a return type, or drop a view's column. */
const OTHER_SHAPE = ['42P13', '42P16'];

/**
 * Create or replace a function or a view. Where the existing one has other arguments, another return type or other
 * columns, drop it and grant the same rights on the new one.
 */
export async function replaceObject(client: Client, { name, text }: SqlFunction): Promise<void> {
  const before = await findObjects(client, name);
  if (before.length === 0) {
    await client.query(text);
    return;
  }
  await client.query('savepoint replacing');
  try {
    await client.query(text);
  } catch (error) {
    if (!isServerError(error) || !OTHER_SHAPE.includes(error.code ?? '')) throw error;
    await client.query('rollback to savepoint replacing');
    for (const object of before) await drop(client, object);
    await client.query(text);
  }
  await client.query('release savepoint replacing');
  const after = await findObjects(client, name);
  const made = after.find(({ oid }) => !before.some((old) => old.oid === oid));
  if (made === undefined) return;
  for (const object of after) if (object !== made) await drop(client, object);
  for (const { grants } of before)
    for (const { privilege, role, grantable } of grants)
      await client.query(
        `grant ${privilege} on ${made.kind === 'view' ? 'table' : 'function'} ${made.signature} to ${role}${grantable ? ' with grant option' : ''}`,
      );
}

/** Drop every object of that name, whatever its arguments. */
export async function dropObject(client: Client, name: string): Promise<void> {
  for (const object of await findObjects(client, name)) await drop(client, object);
}

async function drop(client: Client, { kind, signature }: StoredObject): Promise<void> {
  await client.query(`drop ${kind} ${signature}`);
}

async function findObjects(client: Client, name: string): Promise<StoredObject[]> {
  const { rows } = await client.query<StoredObject>(
    `select o.oid::text, o.kind, o.signature,
       coalesce((
         select json_agg(json_build_object(
           'privilege', a.privilege_type, 'role', a.grantee::regrole::text, 'grantable', a.is_grantable
         ))
         from aclexplode(o.acl) as a
         where a.grantee not in (0, o.owner)
       ), '[]') as grants
     from (
       select p.oid, 'function' as kind, p.oid::regprocedure::text as signature, p.proacl as acl, p.proowner as owner
       from pg_proc p where p.pronamespace = 'taskq'::regnamespace and p.proname = $1
       union all
       select c.oid, 'view', c.oid::regclass::text, c.relacl, c.relowner
       from pg_class c where c.relnamespace = 'taskq'::regnamespace and c.relname = $1 and c.relkind = 'v'
     ) as o`,
    [name],
  );
  return rows;
}
