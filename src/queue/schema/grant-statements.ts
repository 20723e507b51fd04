import { withLiterals } from '../../lib/literal.ts';
import { type Kind, kindsIn } from './head-comment.ts';
import { type Addition, commentOf, type SqlFunction } from './schema-release.ts';
import { untrusted } from './untrusted.ts';

/** The role that owns the schema. It cannot log in, and may do nothing else. */
export const OWNER = 'taskq_owner';

/** Which roles get which rights. */
export interface Wanted {
  readonly roles: readonly { readonly role: string; readonly kind: RoleKind }[];
  /** Whether the workers may enqueue follow-ups of their tasks, and set the schedules of their configuration. */
  readonly followUps: 'granted' | 'revoked';
  /**
   * Functions of the application that the workers call: `comms.send_email`, or `comms.*` for a whole schema. Checked:
   * no name has a dot, a quote or a dollar sign.
   */
  readonly functions: readonly string[];
}

/** The kinds of roles that a caller names; each kind of a function is part of one. */
export type RoleKind = Exclude<Kind, 'worker that enqueues'>;

/** What `role` gets: functions of ours by name, or those of the application, as they were named. */
export interface Grant {
  readonly role: string;
  readonly kind: RoleKind;
  readonly functions: readonly string[];
}

/** List what each role gets, in the order given. */
export function grantsOf({ roles, followUps, functions }: Wanted, ours: readonly SqlFunction[]): Grant[] {
  return roles.map(({ role, kind }) => {
    const kinds: readonly Kind[] =
      kind === 'worker' && followUps === 'granted' ? [kind, 'worker that enqueues'] : [kind];
    const named = ours.filter((one) => kindsOf(one).some((each) => kinds.includes(each)));
    const theirs = kind === 'worker' ? functions : [];
    return { role, kind, functions: [...named.map(fullName), ...theirs] };
  });
}

function fullName({ schema, name }: SqlFunction): string {
  return `${schema}.${name}`;
}

/** The kinds of roles that call a function. */
export function kindsOf(one: SqlFunction): readonly Kind[] {
  return kindsIn(commentOf(one) ?? '');
}

/**
 * Write the statements that give the schema to its own role, and the roles what they need: EXECUTE on the functions of
 * their kinds and USAGE on the schema, and nothing on a table; likewise for each addition that is installed. To be run in
 * one transaction; they may be repeated.
 */
export function grantStatements(
  wanted: Wanted,
  ours: readonly SqlFunction[],
  additions: Readonly<Record<Addition, readonly SqlFunction[]>>,
): string[] {
  const workers = wanted.roles.filter(({ kind }) => kind === 'worker').map(({ role }) => quoted(role));
  const enqueueing = ours.filter((one) => kindsOf(one).includes('worker that enqueues'));
  return [
    // They may be run by a superuser whose search path has operators of other roles.
    'set local search_path = pg_catalog, pg_temp;',
    HAND_OVER,
    ...wanted.functions.flatMap((pattern) => functionStatements(pattern, workers)),
    // Without the right to grant, the session would get only a warning.
    `set local role ${OWNER};`,
    ...grantsOf({ ...wanted, functions: [] }, ours).flatMap(grantsTo),
    ...Object.entries(additions).flatMap(([addition, functions]) =>
      grantsOf({ ...wanted, functions: [] }, functions).flatMap((grant) => ifInstalled(addition, grant)),
    ),
    ...(wanted.followUps === 'revoked' && workers.length > 0
      ? [`revoke execute on function ${enqueueing.map(fullName).join(', ')} from ${workers.join(', ')};`]
      : []),
  ];
}

function grantsTo({ role, functions }: Grant): string[] {
  const schemas = [...new Set(functions.map((name) => name.split('.')[0]))];
  return [
    `grant usage on schema ${schemas.join(', ')} to ${quoted(role)};`,
    `grant execute on function\n  ${functions.join(',\n  ')}\nto ${quoted(role)};`,
  ];
}

/** A schema of that name may belong to others: ours is recorded. */
function ifInstalled(addition: string, grant: Grant): string[] {
  const [first] = grant.functions;
  if (first === undefined) return [];
  const isOurs = `exists (select from taskq.release where objects ? '${first}')`;
  return [
    `do $$\nbegin\n  if to_regnamespace('${addition}') is not null and ${isOurs} then`,
    ...grantsTo(grant),
    '  end if;\nend\n$$;',
  ];
}

function functionStatements(pattern: string, workers: readonly string[]): string[] {
  const [schema = '', name = ''] = pattern.split('.');
  const which =
    name === '*' ? `all functions in schema ${quoted(schema)}` : `function ${quoted(schema)}.${quoted(name)}`;
  return [
    withLiterals(OWNED, [schema, name]),
    `revoke execute on ${which} from public;`,
    `grant usage on schema ${quoted(schema)} to ${workers.join(', ')};`,
    `grant execute on ${which} to ${workers.join(', ')};`,
  ];
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Before PostgreSQL 16, every member of a role may act as it; `set` is since then a right of its own. */
const ACTING =
  "case when current_setting('server_version_num')::integer >= 160000 then 'set' else 'member' end";

/** Whether a release made the function `p`. */
const IS_OURS = `exists (
    select from taskq.release, jsonb_each(objects) as made where made.value ->> 'signature' = p.oid::regprocedure::text
  )`;

/**
 * Hands over the objects of the role that has migrated. Objects of others in the schema stay theirs; dependent objects
 * of a table (its row type, the sequence of a column) follow it. The former owner becomes a member, unless it is a
 * superuser: it can migrate as before.
 */
const HAND_OVER = `do $$
declare
  former oid;
  former_name name;
  acting text := ${ACTING};
  spaces oid[];
  member name;
  object text;
  threats text;
  remedies text;
  excess text[];
begin
  -- As migrate does, which makes objects that would not be handed over.
  perform pg_advisory_xact_lock(hashtext('taskq.migrate'));
  select c.relowner, r.rolname into former, former_name
  from pg_class c join pg_roles r on r.oid = c.relowner where c.oid = to_regclass('taskq.release');
  if former is null then
    raise exception 'the database has no schema taskq' using errcode = '3F000', hint = 'run taskq migrate';
  end if;
  if former_name <> '${OWNER}' and not pg_has_role(former, 'usage') then
    raise exception 'role % may not give away the schema taskq, which belongs to role %', current_user, former_name
      using errcode = '42501',
      hint = format('run this as a superuser, or first: grant %I to %I', former_name, current_user);
  end if;
  begin
    if to_regrole('${OWNER}') is null then
      begin
        create role ${OWNER} nologin;
      exception
        -- Roles are those of all databases: another one creates it just now.
        when duplicate_object or unique_violation then null;
      end;
    end if;
    for member in
      select rolname from pg_roles
      where (rolname = current_user or oid = former) and rolname <> '${OWNER}'
        and not pg_has_role(oid, '${OWNER}', acting)
    loop
      execute format('grant ${OWNER} to %I', member);
    end loop;
  exception
    when insufficient_privilege then
      raise exception 'role % may not act as role ${OWNER}: %', current_user, sqlerrm using errcode = '42501',
        hint = format(
          'as a role that may create and grant roles: %sgrant ${OWNER} to %I; then run this again',
          case when to_regrole('${OWNER}') is null then 'create role ${OWNER} nologin; ' end, current_user
        );
  end;
  if (select rolsuper from pg_roles where rolname = '${OWNER}') then
    raise exception 'role ${OWNER} is a superuser: every function would run with all rights'
      using errcode = '42501', hint = 'alter role ${OWNER} nosuperuser';
  end if;
  select array_remove(
    array[
      case when rolcanlogin then 'login' end, case when rolcreatedb then 'createdb' end,
      case when rolcreaterole then 'createrole' end, case when rolreplication then 'replication' end,
      case when rolbypassrls then 'bypassrls' end
    ],
    null
  )
  into excess from pg_roles where rolname = '${OWNER}';
  if excess <> '{}' then
    raise exception 'role ${OWNER} may do more than own the schema: %', array_to_string(excess, ', ')
      using errcode = '42501', hint = 'alter role ${OWNER} no' || array_to_string(excess, ' no');
  end if;
  select string_agg(format('role %s %s', u.by, u.threat), ', '), string_agg(u.remedy, '; ')
  into threats, remedies
  from (${untrusted(`'${OWNER}'`, IS_OURS)}) as u
  where u.threat <> 'owns the schema taskq';
  if threats is not null then
    raise exception '%, and could run code of its own as role ${OWNER}', threats
      using errcode = '42501', hint = remedies;
  end if;
  -- Those of additions, too.
  spaces := array(
    select oid from pg_namespace
    where nspname = 'taskq' or nspname in (
      select split_part(name, '.', 1) from taskq.release, jsonb_object_keys(objects) as name where name like '%.%'
    )
  );
  for object in
    select format('schema %I', nspname) from pg_namespace
    where oid = any (spaces) and nspowner <> '${OWNER}'::regrole
  loop
    execute 'alter ' || object || ' owner to ${OWNER}';
  end loop;
  for object in
    select case c.relkind when 'v' then 'view ' when 'S' then 'sequence ' else 'table ' end || c.oid::regclass
    from pg_class c
    where c.relnamespace = any (spaces) and c.relowner = former and c.relkind in ('r', 'p', 'v', 'S')
      and not exists (
        select from pg_depend d where d.objid = c.oid and c.relkind = 'S' and d.deptype in ('a', 'i')
      )
    union all
    select 'routine ' || p.oid::regprocedure from pg_proc p
    where p.pronamespace = any (spaces) and p.proowner = former
    union all
    select case t.typtype when 'd' then 'domain ' else 'type ' end || t.oid::regtype
    from pg_type t
    left join pg_class c on c.oid = t.typrelid
    where t.typnamespace = any (spaces) and t.typowner = former
      and (t.typtype in ('d', 'e', 'r') or c.relkind = 'c')
  loop
    exit when former = '${OWNER}'::regrole;
    execute 'alter ' || object || ' owner to ${OWNER}';
  end loop;
end
$$;`;

/** Of a schema ($1) and one of its functions ($2): whose owner the session is not, it could not grant either. */
const OWNED = `do $$
begin
  if exists (
    select from pg_namespace n
    left join pg_proc p on p.pronamespace = n.oid and $2 in ('*', p.proname)
    where n.nspname = $1
      and not (pg_has_role(n.nspowner, 'usage') and coalesce(pg_has_role(p.proowner, 'usage'), true))
  ) then
    raise exception 'role % may not grant %.%', current_user, $1, $2
      using errcode = '42501', hint = 'run this as their owner, or as a superuser';
  end if;
end
$$;`;
