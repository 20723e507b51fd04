import type { Client } from '../../lib/connect.ts';
import { isServerError } from '../../lib/database.ts';
import { TaskqError } from '../../lib/errors.ts';
import { adviseNonOwner, readRights } from './schema-owner.ts';

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
  const rights = await readRights(client);
  const { role, database, schema_owner: schemaOwner, owner } = rights;
  const refusal = (message: string, hint: string) =>
    new TaskqError('may_not_migrate', message, { hint, cause: error });
  if (!rights.may_create_schema && (schemaOwner === null || / for database /.test(error.message))) {
    const what = schemaOwner === null ? 'the schema taskq' : 'a schema';
    return refusal(
      `role ${role} may not create ${what}: it lacks CREATE on database ${database}`,
      `as the owner of the database: grant create on database ${database} to ${role}; or migrate as another role`,
    );
  }
  if (owner !== null && owner !== role) {
    return refusal(
      `role ${role} may not change the schema taskq, which belongs to role ${owner}: ${error.message}`,
      adviseNonOwner(rights),
    );
  }
  if (schemaOwner !== null && !rights.may_create_objects) {
    return refusal(
      `role ${role} may not create objects in the schema taskq: ${error.message}`,
      `as ${schemaOwner}, the owner of the schema: grant usage, create on schema taskq to ${role}`,
    );
  }
  return refusal(
    `role ${role} may not migrate database ${database}: ${error.message}`,
    `grant it to ${role}, or migrate as another role`,
  );
}
