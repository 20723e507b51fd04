import { loadMigrationFiles, migrate as runMigrations } from 'postgres-migrations';
import { type Client, connectClient } from '../lib/connect.ts';
import { EXIT, TaskqError } from '../lib/errors.ts';
import { prepareSession } from '../lib/session.ts';
import { hashFunctions, MIGRATIONS, readFunctions, readRelease } from './schema-release.ts';

/** One thing that brings the schema up to this binary. */
export interface MigrationStep {
  readonly step: 'schema' | 'migration' | 'functions' | 'partitions';
  readonly name: string;
  readonly applied: boolean;
}

export interface MigrateOptions {
  /** A direct connection: a session lock is held through it, which a pooler would share. */
  readonly databaseUrl: string;
  /** Say what is there and what is due, change nothing. */
  readonly dryRun?: true;
}

/**
 * Bring the schema `taskq` up to this binary. Returns every step there is, `applied` where it stood before this
 * call or (without `dryRun`) stands now; `newlyApplied` are those that this call made. Many processes may call it at
 * once: one session lock, taken before anything is looked at, covers schema, migrations and functions; it ends with
 * the connection, so a killed process leaves nothing behind, and every step is a transaction of its own.
 * Throws `schema_newer` (exit 3) where a newer binary has migrated, `pooled_connection` behind a pooler.
 */
export async function migrate(
  options: MigrateOptions,
): Promise<{ steps: MigrationStep[]; newlyApplied: MigrationStep[] }> {
  const client = await connectClient({ connectionString: options.databaseUrl });
  try {
    await prepare(client);
    await client.query("select pg_advisory_lock(hashtext('taskq.migrate'))");
    const due = await findDue(client);
    const missing = options.dryRun ? [] : due.filter((step) => !step.applied);
    if (missing.length > 0) await apply(client, missing);
    const done = (step: MigrationStep) => ({ ...step, applied: true });
    return { steps: options.dryRun ? due : due.map(done), newlyApplied: missing.map(done) };
  } finally {
    await client.end();
  }
}

async function findDue(client: Client): Promise<MigrationStep[]> {
  const files = await loadMigrationFiles(MIGRATIONS);
  const ours = files.filter((file) => file.id > 0);
  const { rows: found } = await client.query<{ schema: string | null; migrations: string | null }>(
    "select to_regnamespace('taskq')::text as schema, to_regclass('taskq.migrations')::text as migrations",
  );
  const { schema, migrations } = found[0]!;
  const applied = new Set<number>();
  if (migrations !== null) {
    const { rows } = await client.query<{ id: number }>('select id from taskq.migrations');
    for (const { id } of rows) applied.add(id);
  }
  const newest = Math.max(0, ...applied);
  if (newest > ours.length) throw newer(`it has migration ${newest}, this binary brings ${ours.length}`);
  return [
    { step: 'schema', name: 'taskq', applied: schema !== null && migrations !== null },
    ...ours.map(
      (file): MigrationStep => ({
        step: 'migration',
        name: file.fileName.replace(/\.sql$/, ''),
        applied: applied.has(file.id),
      }),
    ),
    { step: 'functions', ...(await functionsStep(client, migrations !== null)) },
  ];
}

async function functionsStep(client: Client, exists: boolean): Promise<{ name: string; applied: boolean }> {
  const release = await readRelease();
  const name = `release ${release.number}`;
  const { rows: table } = await client.query<{ release: string | null }>(
    "select to_regclass('taskq.release')::text as release",
  );
  if (!exists || table[0]!.release === null) return { name, applied: false };
  const { rows } = await client.query<{ number: number; functions_hash: string }>(
    'select number, functions_hash from taskq.release',
  );
  const stored = rows[0];
  if (stored === undefined) return { name, applied: false };
  if (stored.number > release.number) {
    throw newer(`its functions are release ${stored.number}, this binary brings ${release.number}`);
  }
  return { name, applied: stored.number === release.number };
}

async function apply(client: Client, steps: readonly MigrationStep[]): Promise<void> {
  if (steps.some((step) => step.step === 'schema')) await createSchema(client);
  if (steps.some((step) => step.step === 'migration')) {
    // postgres-migrations looks for its table in every schema, and fails where it finds another one's.
    await client.query('set search_path = taskq');
    await runMigrations({ client }, MIGRATIONS);
    await client.query('set search_path = pg_catalog, pg_temp');
  }
  if (steps.some((step) => step.step === 'functions')) await applyFunctions(client);
}

/** The schema if it is absent (a role that may not create one can still migrate an existing one), and the list. */
async function createSchema(client: Client): Promise<void> {
  await inTransaction(client, async () => {
    const { rows } = await client.query<{ absent: boolean }>(
      "select to_regnamespace('taskq') is null as absent",
    );
    if (rows[0]!.absent) await client.query('create schema taskq');
    const list = (await loadMigrationFiles(MIGRATIONS)).find((file) => file.id === 0)!;
    await client.query('set local search_path = taskq');
    await client.query(list.sql);
    await client.query(
      'insert into migrations (id, name, hash) values ($1, $2, $3) on conflict (id) do nothing',
      [list.id, list.name, list.hash],
    );
  });
}

/** Functions, views and rights in one transaction, so that no session ever sees half of them. */
async function applyFunctions(client: Client): Promise<void> {
  const release = await readRelease();
  const functions = await readFunctions();
  await inTransaction(client, async () => {
    // Bodies name each other: they are checked by the tests, not by the order of files.
    await client.query('set local check_function_bodies = off');
    for (const { text } of functions) await client.query(text);
    await client.query('revoke all on all functions in schema taskq from public');
    await client.query('revoke all on all tables in schema taskq from public');
    await client.query(
      `insert into taskq.release (number, functions_hash, oldest_client, applied_at)
       values ($1, $2, $3, clock_timestamp())
       on conflict (only_row) do update set number = excluded.number, functions_hash = excluded.functions_hash,
         oldest_client = excluded.oldest_client, applied_at = excluded.applied_at`,
      [release.number, hashFunctions(functions), release.oldestClient],
    );
    await client.query('select taskq.ensure_partitions()');
  });
}

async function inTransaction(client: Client, work: () => Promise<void>): Promise<void> {
  await client.query('begin');
  try {
    await work();
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

async function prepare(client: Client): Promise<void> {
  const { isDirect } = await prepareSession(client);
  if (isDirect) return;
  throw new TaskqError(
    'pooled_connection',
    'migrate needs a direct connection, and this one goes through a pooler',
    {
      exitCode: EXIT.usage,
      hint: 'set directUrl (TASKQ_DIRECT_URL) to the server itself',
    },
  );
}

function newer(why: string): TaskqError {
  return new TaskqError('schema_newer', `the schema taskq is newer than this binary: ${why}`, {
    exitCode: EXIT.schema,
    hint: 'install the newer taskq',
  });
}
