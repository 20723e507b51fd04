import type { Client } from '../../lib/connect.ts';
import { isServerError } from '../../lib/database.ts';
import { TaskqError } from '../../lib/errors.ts';

/**
 * Explain a server's refusal of a migration: which role lacks which right and what grants it, or which foreign objects
 * depend on one that the release drops. Returns any other error unchanged.
 */
export async function explainRefusal(client: Client, error: unknown): Promise<unknown> {
  if (isServerError(error) && error.code === '2BP01') {
    const dependents = error.detail === undefined ? '' : `: ${error.detail.replaceAll('\n', '; ')}`;
    return new TaskqError('schema_depended_on', `nothing was changed: ${error.message}${dependents}`, {
      hint: 'drop that, migrate, and make it again',
      cause: error,
    });
  }
  if (!isServerError(error) || error.code !== '42501') return error;
  const { rows } = await client.query<Rights>(RIGHTS);
  const { role, database, owner, may_create: mayCreate } = rows[0]!;
  const refusal = (message: string, hint: string) =>
    new TaskqError('may_not_migrate', message, { hint, cause: error });
  if (owner === null && !mayCreate) {
    return refusal(
      `role ${role} may not create the schema taskq: it lacks CREATE on database ${database}`,
      `as the owner of the database: grant create on database ${database} to ${role}; or migrate as another role`,
    );
  }
  if (owner !== null && owner !== role) {
    return refusal(
      `role ${role} may not change the schema taskq, which belongs to role ${owner}: ${error.message}`,
      `run taskq migrate as ${owner}; other commands need only: grant usage on schema taskq to ${role}; grant execute on all functions in schema taskq to ${role}`,
    );
  }
  return refusal(
    `role ${role} may not migrate database ${database}: ${error.message}`,
    `grant it to ${role}, or migrate as another role`,
  );
}

/** Names are quoted where SQL needs it. */
interface Rights {
  readonly role: string;
  readonly database: string;
  /** The owner of the schema; null: it does not exist yet. */
  readonly owner: string | null;
  readonly may_create: boolean;
}

const RIGHTS = `
  select pg_catalog.quote_ident(current_user) as role,
    pg_catalog.quote_ident(pg_catalog.current_database()) as database,
    (
      select pg_catalog.quote_ident(r.rolname) from pg_catalog.pg_namespace n
      join pg_catalog.pg_roles r on r.oid = n.nspowner where n.nspname = 'taskq'
    ) as owner,
    pg_catalog.has_database_privilege(pg_catalog.current_database(), 'create') as may_create`;
