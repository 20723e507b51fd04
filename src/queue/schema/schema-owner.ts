import type { Client } from '../../lib/connect.ts';
import { TaskqError } from '../../lib/errors.ts';
import { OWNER } from './grant-statements.ts';
import { readObjects } from './released-objects.ts';

/**
 * The role that migrated first owns what releases made, and must own what later releases add: functions run with the
 * rights of their owner, and a release grants its new objects to no other role. Act as that role from here on, if the
 * session may. In a database without a release, the current role will be the owner.
 */
export async function becomeOwner(client: Client): Promise<void> {
  const { role, owner, may_become: mayBecome } = await readRights(client);
  if (owner !== null && owner !== role && mayBecome) await client.query(`set role ${owner}`);
}

/** Throws `may_not_migrate` where the session does not act as the owner. */
export async function refuseNonOwner(client: Client): Promise<void> {
  const rights = await readRights(client);
  const { role, owner } = rights;
  if (owner === null || owner === role) return;
  throw new TaskqError(
    'may_not_migrate',
    `nothing was changed: role ${role} may not act as role ${owner}, which owns the schema taskq`,
    { hint: adviseNonOwner(rights) },
  );
}

/** What to do as a role that neither is the owner nor may act as it. */
export function adviseNonOwner({ owner, grant }: Rights): string {
  return (
    `run taskq migrate as ${owner === OWNER ? 'a superuser' : owner}, or first: ${grant}; ` +
    'for other commands: taskq grants prints what a role needs'
  );
}

/**
 * Give the functions and views of the installed release, and the schemas of additions, that another role owns back to
 * the owner, as which the session acts. Throws `may_not_migrate`, with the statements, where the session may not.
 */
export async function reclaimObjects(client: Client): Promise<void> {
  const objects = await readObjects(client);
  const signatures = Object.values(objects).map(({ signature }) => signature);
  if (signatures.length === 0) return;
  const schemas = [...new Set(Object.keys(objects).map((name) => name.split('.').at(-2) ?? 'taskq'))];
  const ofAdditions = schemas.filter((schema) => schema !== 'taskq');
  const { rows } = await client.query<ForeignObject>(FOREIGN_OBJECTS, [
    [...signatures, ...ofAdditions],
    schemas,
  ]);
  if (rows.length === 0) return;
  const { role } = await readRights(client);
  const statements = rows.map(({ object }) => `alter ${object} owner to ${role}`);
  if (!rows.every(({ may_give: mayGive }) => mayGive)) {
    const foreign = rows.map(({ object, owner }) => `${object} belongs to role ${owner}`);
    throw new TaskqError(
      'may_not_migrate',
      `nothing was changed: ${foreign.join(', ')}, and the schema taskq to role ${role}`,
      { hint: `run taskq migrate as a superuser, or first, as one: ${statements.join('; ')}` },
    );
  }
  await client.query('set local role none');
  for (const statement of statements) await client.query(statement);
  await client.query(`set local role ${role}`);
}

interface ForeignObject {
  /** The kind of object, as `alter` names it. */
  readonly object: string;
  readonly owner: string;
  readonly may_give: boolean;
}

const FOREIGN_OBJECTS = `
  select o.kind || ' ' || o.signature as object, quote_ident(r.rolname) as owner,
    pg_has_role(session_user, r.oid, 'usage') as may_give
  from (
    select 'function' as kind, p.oid::regprocedure::text as signature, p.proowner as owner
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = any($2::text[])
    union all
    select 'view', c.oid::regclass::text, c.relowner
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'v' and n.nspname = any($2::text[])
    union all
    select 'schema', n.nspname, n.nspowner from pg_namespace n where n.nspname = any($2::text[])
  ) as o
  join pg_roles r on r.oid = o.owner
  where o.signature = any($1::text[]) and r.rolname <> current_user
  order by 1`;

/** Names are quoted where SQL needs it. */
export interface Rights {
  readonly role: string;
  readonly database: string;
  readonly may_create_schema: boolean;
  /** The owner of the schema itself; null: it does not exist. */
  readonly schema_owner: string | null;
  readonly may_create_objects: boolean | null;
  /** The owner of what is in the schema; null: no release was applied. */
  readonly owner: string | null;
  readonly may_become: boolean | null;
  /** The statement after which the session may act as the owner. */
  readonly grant: string | null;
}

/** Read who owns the schema and what the session may do. Needs no right on the schema. */
export async function readRights(client: Client): Promise<Rights> {
  const { rows } = await client.query<Rights>(RIGHTS);
  return rows[0]!;
}

/** Before PostgreSQL 16, every member of a role may act as it; `set` is since then a right of its own. */
const RIGHTS = `
  select quote_ident(current_user) as role,
    quote_ident(current_database()) as database,
    has_database_privilege(current_database(), 'create') as may_create_schema,
    (select quote_ident(r.rolname) from pg_roles r where r.oid = n.nspowner) as schema_owner,
    has_schema_privilege(n.oid, 'usage') and has_schema_privilege(n.oid, 'create') as may_create_objects,
    quote_ident(o.rolname) as owner,
    pg_has_role(session_user, o.oid, case when version.has_set then 'set' else 'member' end) as may_become,
    'grant ' || quote_ident(o.rolname) || ' to ' || quote_ident(session_user)
      || case when version.has_set then ' with set true' else '' end as grant
  from (select current_setting('server_version_num')::integer >= 160000 as has_set) as version
  left join pg_namespace n on n.nspname = 'taskq'
  left join pg_class c on c.relnamespace = n.oid and c.relname = 'release' and c.relkind = 'r'
  left join pg_roles o on o.oid = c.relowner`;
