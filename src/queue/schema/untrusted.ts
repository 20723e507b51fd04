import type { Client } from '../../lib/connect.ts';
import { TaskqError } from '../../lib/errors.ts';

/**
 * A query for threats: ways in which roles that may not act as `role` could run code of their own with its rights,
 * because its functions in the schema taskq look up operators and other functions there. Rows: `threat`, `by` (a role)
 * and `remedy`, a statement; in the order in which these can be run. `isOurs` is an SQL expression: whether a release
 * made the function `p` of pg_proc.
 */
export function untrusted(role: string, isOurs: string): string {
  const ours = `'alter routine ' || p.oid::regprocedure || ' owner to ' || quote_ident(${role})`;
  return `
    select t.threat, coalesce(quote_ident(r.rolname), 'public') as by, t.remedy
    from (
      select 1 as place, 'owns the schema taskq' as threat, n.nspowner as by,
        'alter schema taskq owner to ' || quote_ident(${role}) as remedy
      from pg_namespace n where n.nspname = 'taskq'
      union all
      select 2, 'may create objects in the schema taskq', a.grantee,
        'revoke create on schema taskq from ' || coalesce(quote_ident(g.rolname), 'public')
      from pg_namespace n
      cross join lateral aclexplode(n.nspacl) as a
      left join pg_roles g on g.oid = a.grantee
      where n.nspname = 'taskq' and a.privilege_type = 'CREATE' and a.grantee <> n.nspowner
      union all
      select 3, 'owns the operator ' || o.oid::regoperator, o.oprowner, 'drop operator ' || o.oid::regoperator
      from pg_operator o join pg_namespace n on n.oid = o.oprnamespace where n.nspname = 'taskq'
      union all
      select 4, 'owns the function ' || p.oid::regprocedure, p.proowner,
        case when ${isOurs} then ${ours} else 'drop routine ' || p.oid::regprocedure end
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'taskq'
    ) as t
    left join pg_roles r on r.oid = t.by
    where t.by = 0 or not pg_has_role(t.by, ${role}, 'member')
    order by t.place, 1, 2`;
}

/**
 * Throws `schema_untrusted`, with the statements that mend it, where a role that may not act as the session's could run
 * code of its own with the rights of what a migration makes: it made the schema before, or objects in it.
 */
export async function refuseUntrusted(client: Client): Promise<void> {
  const { rows } = await client.query<{ role: string; threat: string; by: string; remedy: string }>(
    `select quote_ident(current_user) as role, u.* from (${untrusted('current_user', 'false')}) as u`,
  );
  if (rows.length === 0) return;
  const [{ role }] = rows as [(typeof rows)[number]];
  const threats = rows.map(({ by, threat }) => `role ${by} ${threat}`);
  throw new TaskqError(
    'schema_untrusted',
    `nothing was changed: ${threats.join(', ')}, and could run code of its own as role ${role}`,
    {
      hint: `${rows.map(({ remedy }) => remedy).join('; ')}; or migrate as another role`,
    },
  );
}
