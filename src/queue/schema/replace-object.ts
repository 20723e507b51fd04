import type { Client } from '../../lib/connect.ts';
import { isServerError } from '../../lib/database.ts';
import { withLiterals } from '../../lib/literal.ts';
import { commentOf, nameInRelease, type SqlFunction } from './schema-release.ts';

/** A function or a view of the schema, and the rights on it of others than its owner. Names are quoted as in SQL. */
interface StoredObject {
  readonly oid: string;
  readonly kind: 'function' | 'view';
  /** With schema and arguments, as `drop` takes it. */
  readonly signature: string;
  readonly grants: readonly Grant[];
}

interface Grant {
  readonly privilege: string;
  /** The column of a view; null: the whole object. */
  readonly column: string | null;
  readonly role: string;
  readonly grantable: boolean;
}

/** PostgreSQL's errors where `or replace` would change a return type, or drop a view's column. */
const OTHER_SHAPE = ['42P13', '42P16'];

/**
 * Create a function or a view, or replace that of an earlier release, whose signature is `earlier`. If that one has
 * other arguments, another return type or other columns, drop it and pass its grants on to the new one.
 * Returns the new signature.
 */
export async function replaceObject(client: Client, one: SqlFunction, earlier?: string): Promise<string> {
  const { text } = one;
  const before = (await findObjects(client, nameInRelease(one))).find(
    ({ signature }) => signature === earlier,
  );
  await client.query('savepoint replacing');
  try {
    await client.query(text);
  } catch (error) {
    if (before === undefined || !isServerError(error) || !OTHER_SHAPE.includes(error.code ?? '')) throw error;
    await client.query('rollback to savepoint replacing');
    await drop(client, before);
    await client.query(text);
  }
  await client.query('release savepoint replacing');
  const after = await findObjects(client, nameInRelease(one));
  const old = after.find(({ oid }) => oid === before?.oid);
  const made = after.find((object) => object !== old);
  if (made === undefined) {
    await describe(client, old!, one);
    return old!.signature;
  }
  if (old !== undefined) await drop(client, old);
  await client.query(`revoke all on ${inGrants(made)} from public`);
  if (before !== undefined) await passRights(client, before, made);
  if (one.isPublic) await describe(client, made, one);
  return made.signature;
}

/** Remove the comment of an object that the release hides from clients. */
async function describe(client: Client, { kind, signature }: StoredObject, one: SqlFunction): Promise<void> {
  await client.query(withLiterals(`comment on ${kind} ${signature} is $1`, [commentOf(one)]));
}

/** Default privileges may have granted rights on the new object that the old one did not grant. */
async function passRights(client: Client, before: StoredObject, made: StoredObject): Promise<void> {
  for (const role of new Set(made.grants.map((grant) => grant.role)))
    await client.query(`revoke all on ${inGrants(made)} from ${role}`);
  const columns = await columnsOf(client, made);
  for (const { privilege, column, role, grantable } of before.grants) {
    if (column !== null && !columns.includes(column)) continue;
    const right = column === null ? privilege : `${privilege} (${column})`;
    await client.query(
      `grant ${right} on ${inGrants(made)} to ${role}${grantable ? ' with grant option' : ''}`,
    );
  }
}

/** Drop a function or a view of an earlier release, by its name there, if it is still there. */
export async function dropObject(client: Client, name: string, signature: string): Promise<void> {
  const object = (await findObjects(client, name)).find((found) => found.signature === signature);
  if (object !== undefined) await drop(client, object);
}

async function drop(client: Client, { kind, signature }: StoredObject): Promise<void> {
  await client.query(`drop ${kind} ${signature}`);
}

function inGrants({ kind, signature }: StoredObject): string {
  return `${kind === 'view' ? 'table' : 'function'} ${signature}`;
}

async function columnsOf(client: Client, { kind, oid }: StoredObject): Promise<string[]> {
  if (kind === 'function') return [];
  const { rows } = await client.query<{ name: string }>(
    `select quote_ident(attname) as name from pg_attribute
     where attrelid = $1::oid and attnum > 0 and not attisdropped`,
    [oid],
  );
  return rows.map(({ name }) => name);
}

async function findObjects(client: Client, nameThere: string): Promise<StoredObject[]> {
  const [name, schema = 'taskq'] = nameThere.split('.').reverse();
  const { rows } = await client.query<StoredObject>(
    `select o.oid::text, o.kind, o.signature,
       coalesce((
         select json_agg(json_build_object(
           'privilege', g.privilege_type, 'column', g.column_name, 'grantable', g.is_grantable,
           'role', case g.grantee when 0 then 'public' else g.grantee::regrole::text end
         ))
         from (
           select null as column_name, a.* from aclexplode(o.acl) as a
           union all
           select quote_ident(c.attname), a.* from pg_attribute c cross join aclexplode(c.attacl) as a
           where o.kind = 'view' and c.attrelid = o.oid and not c.attisdropped
         ) as g
         where g.grantee <> o.owner
       ), '[]') as grants
     from (
       select p.oid, 'function' as kind, p.oid::regprocedure::text as signature, p.proacl as acl, p.proowner as owner
       from pg_proc p where p.pronamespace = to_regnamespace($2) and p.proname = $1 and p.prokind = 'f'
       union all
       select c.oid, 'view', c.oid::regclass::text, c.relacl, c.relowner
       from pg_class c where c.relnamespace = to_regnamespace($2) and c.relname = $1 and c.relkind = 'v'
     ) as o`,
    [name, schema],
  );
  return rows;
}
