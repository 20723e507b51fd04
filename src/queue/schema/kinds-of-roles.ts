import type { Client } from '../../lib/connect.ts';
import { KINDS, type Kind, kindsIn } from './head-comment.ts';
import { commentOf, type SqlFunction } from './schema-release.ts';

/** A role, quoted where SQL needs it, and what it may call. */
interface Holder {
  readonly role: string;
  readonly kinds: readonly Kind[];
}

/**
 * Find the roles that may call all functions of some kinds, among the functions of the installed release, named here: by
 * the comments that these have in the database. The owner is none of them.
 */
export async function findHolders(client: Client, names: readonly string[]): Promise<Holder[]> {
  const { rows } = await client.query<{ comment: string; roles: readonly string[] }>(
    `select obj_description(p.oid, 'pg_proc') as comment, array(
       select case a.grantee when 0 then 'public' else a.grantee::regrole::text end
       from aclexplode(p.proacl) as a where a.privilege_type = 'EXECUTE' and a.grantee <> p.proowner
     ) as roles
     from pg_proc p
     where p.pronamespace = to_regnamespace('taskq') and p.proname = any ($1::text[])
       and obj_description(p.oid, 'pg_proc') is not null`,
    [names],
  );
  const found = rows.map(({ comment, roles }) => ({ kinds: kindsIn(comment), roles }));
  const kindsOf = (role: string) =>
    KINDS.filter((kind) => {
      const functions = found.filter(({ kinds }) => kinds.includes(kind));
      return functions.length > 0 && functions.every(({ roles }) => roles.includes(role));
    });
  return [...new Set(found.flatMap(({ roles }) => roles))]
    .filter((role) => role !== 'public')
    .map((role) => ({ role, kinds: kindsOf(role) }));
}

/** Grant new functions of a release to the roles that may call all others of their kind: a worker stays a worker. */
export async function grantAdded(
  client: Client,
  holders: readonly Holder[],
  added: readonly SqlFunction[],
): Promise<void> {
  for (const one of added) {
    const kinds = kindsIn(commentOf(one) ?? '');
    const roles = holders.filter((holder) => holder.kinds.some((kind) => kinds.includes(kind)));
    if (roles.length === 0) continue;
    const named = roles.map(({ role }) => role).join(', ');
    await client.query(`grant execute on function taskq.${one.name} to ${named}`);
  }
}
