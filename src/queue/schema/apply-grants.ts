import { type Client, connectClient } from '../../lib/connect.ts';
import { isServerError } from '../../lib/database.ts';
import { TaskqError } from '../../lib/errors.ts';
import { prepareSession } from '../../lib/session.ts';
import { installedAdditions } from './additions.ts';
import type { Blocker } from './blockers.ts';
import { checkSchema } from './check-schema.ts';
import { type Grant, grantStatements, grantsOf, kindsOf, OWNER, type Wanted } from './grant-statements.ts';
import { patiently } from './patiently.ts';
import { readAdditions, readFunctions } from './schema-release.ts';

export interface Granted {
  readonly owner: string;
  /** Who owned the schema before; null: `owner` did. */
  readonly formerOwner: string | null;
  readonly grants: readonly Grant[];
  readonly excess: readonly Excess[];
}

/** Rights of a role that no kind of role needs, from default privileges or grants of others. */
export interface Excess {
  readonly role: string;
  /** How many internal functions of ours it may call. */
  readonly functions: number;
  /** How many of our tables it may read or change. */
  readonly tables: number;
}

/** How long to retry while other transactions hold a table whose owner must change. */
const PATIENCE_MS = 60_000;

/**
 * Run the statements of `grantStatements` in one transaction. Throws `may_not_grant`, with what to do, where the role
 * may not; `no_such_role`; `no_such_function` of the application; `schema_in_use` while others hold a table; and what
 * `checkSchema` throws.
 */
export async function applyGrants(
  databaseUrl: string,
  wanted: Wanted,
  onBlocked: (by: readonly Blocker[]) => void,
): Promise<Granted> {
  const [functions, additions] = await Promise.all([readFunctions(), readAdditions()]);
  const client = await connectClient({ connectionString: databaseUrl });
  try {
    await prepareSession(client);
    await checkSchema({
      query: async <Row extends object>({ text }: { readonly text: string }) =>
        (await client.query<Row>(text)).rows,
    });
    const former = await ownerOf(client);
    const until = performance.now() + PATIENCE_MS;
    await patiently({ client, databaseUrl, until, onBlocked }, async () => {
      await client.query(grantStatements(wanted, functions, additions).join('\n'));
    });
    const installed = await installedAdditions(client);
    return {
      owner: OWNER,
      formerOwner: former === OWNER ? null : former,
      grants: grantsOf(wanted, [...functions, ...installed.flatMap((addition) => additions[addition])]),
      excess: await findExcess(
        client,
        [...new Set(wanted.roles.map(({ role }) => role))],
        functions.filter((one) => kindsOf(one).length === 0).map(({ name }) => name),
      ),
    };
  } catch (error) {
    throw explainRefusal(error);
  } finally {
    await client.end();
  }
}

/** Those of these roles that may do more than their kinds; a role that may act as the owner may do everything. */
async function findExcess(
  client: Client,
  roles: readonly string[],
  internal: readonly string[],
): Promise<Excess[]> {
  const { rows } = await client.query<Excess>(
    `select * from (
      select r.role, (
        select count(*)::integer from pg_proc p
        where p.pronamespace = 'taskq'::regnamespace and p.proname = any ($2)
          and has_function_privilege(r.role, p.oid, 'execute')
      ) as functions, (
        select count(*)::integer from pg_class c
        where c.relnamespace = 'taskq'::regnamespace and c.relkind in ('r', 'p')
          and has_table_privilege(r.role, c.oid, 'select, insert, update, delete, truncate')
      ) as tables
      from unnest($1::name[]) as r (role)
      where not pg_has_role(r.role, $3, 'member')
    ) as e
    where e.functions > 0 or e.tables > 0`,
    [roles, internal, OWNER],
  );
  return rows;
}

async function ownerOf(client: Client): Promise<string> {
  const { rows } = await client.query<{ owner: string }>(
    "select rolname as owner from pg_roles join pg_class c on c.relowner = pg_roles.oid and c.oid = 'taskq.release'::regclass",
  );
  return rows[0]!.owner;
}

function explainRefusal(error: unknown): unknown {
  if (!isServerError(error)) return error;
  const { code, message, hint } = error;
  switch (code) {
    case '42704':
      return new TaskqError('no_such_role', message, {
        hint: 'create it first: create role … login',
        cause: error,
      });
    case '3F000':
    case '42883':
    case '42725':
      return new TaskqError('no_such_function', message, { hint: 'check --functions', cause: error });
    case '42501':
      return new TaskqError('may_not_grant', message, {
        hint: hint ?? 'run taskq grants as a superuser, or run what it prints as one',
        cause: error,
      });
    default:
      return error;
  }
}
