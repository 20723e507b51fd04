import { join } from 'node:path';
import { loadMigrationFiles } from 'postgres-migrations';
import { type Client, connectClient } from '../../lib/connect.ts';
import { isServerError } from '../../lib/database.ts';
import { TaskqError } from '../../lib/errors.ts';
import { prepareSession } from '../../lib/session.ts';
import { applyAddition, installedAdditions, readInstalled, refuseOthersSchemas } from './additions.ts';
import { applyFunctions, createSchema, runMigration } from './apply-release.ts';
import type { Blocker } from './blockers.ts';
import { explainRefusal } from './migrate-refusal.ts';
import { patiently } from './patiently.ts';
import { refuseOthersObjects } from './released-objects.ts';
import { becomeOwner, reclaimObjects, refuseNonOwner } from './schema-owner.ts';
import { ADDITIONS, type Addition, readFunctions, readRelease, SQL } from './schema-release.ts';
import { refuseUnsuitable } from './unsuitable.ts';
import { refuseUntrusted } from './untrusted.ts';

/** One step that brings the schema up to this binary. */
export interface MigrationStep {
  readonly step: 'schema' | 'migration' | 'functions' | 'addition' | 'partitions';
  readonly name: string;
  readonly applied: boolean;
}

export interface MigrateOptions {
  /** A direct connection: the migration holds a session lock, which a pooler would share. */
  readonly databaseUrl: string;
  /** What to install beside the schema, if it is not there yet. */
  readonly with?: readonly Addition[];
  /** Report what is there and what is due; change nothing. */
  readonly dryRun?: true;
  /** The directory of migrations, functions and release.json; by default this package's own. */
  readonly sql?: string;
  /** How long to retry while other transactions hold what the migration changes; a minute by default. */
  readonly patienceMs?: number;
  /** Called with these transactions when they are first seen and whenever they change. */
  readonly onBlocked?: (by: readonly Blocker[]) => void;
}

const PATIENCE_MS = 60_000;

/**
 * Bring the schema `taskq` up to this binary. Returns every step, `applied` where it was in place before this call or
 * (without `dryRun`) is in place now; `newlyApplied` are those that this call made. Many processes may call it at once:
 * one session lock, taken before the first read, ends with the connection, so that a killed process leaves nothing
 * behind. All due steps are one transaction: others see the schema of the release before or of this one. Throws
 * `schema_newer` (exit 3) where a newer binary has migrated, `schema_differs` (exit 3) where an applied migration
 * differs from this package's, `schema_in_use` where others hold what it changes for too long, `may_not_migrate` where
 * the role lacks a right or may not act as the owner of the schema, `schema_occupied` where an object that is not
 * taskq's has the name of one that it makes, `schema_untrusted` where another role could run code of its own with the
 * rights of the owner, `database_unsuitable`, `pooled_connection` behind a pooler.
 */
export async function migrate(
  options: MigrateOptions,
): Promise<{ steps: MigrationStep[]; newlyApplied: MigrationStep[] }> {
  const { databaseUrl, dryRun, sql = SQL, patienceMs = PATIENCE_MS, onBlocked = () => {} } = options;
  const { with: asked = [] } = options;
  const until = performance.now() + patienceMs;
  const client = await connectClient({ connectionString: databaseUrl });
  try {
    await prepare(client);
    await refuseUnsuitable(client);
    const patience = { client, databaseUrl, until, onBlocked };
    // Anyone who may connect can take this lock, so wait for it as for a table in use. It outlives the transaction.
    await patiently(patience, async () => {
      await client.query("select pg_advisory_lock(hashtext('taskq.migrate'))");
    });
    await becomeOwner(client);
    const due = await findDue(client, sql, asked).catch((error: unknown) => {
      if (!dryRun || !isServerError(error) || error.code !== '42501') throw error;
      return findDueByRelease(client, sql, asked);
    });
    const missing = dryRun ? [] : due.filter((step) => !step.applied);
    if (missing.length > 0) await patiently(patience, () => apply(client, sql, missing));
    const done = ({ step, name }: MigrationStep): MigrationStep => ({ step, name, applied: true });
    return { steps: dryRun ? due : due.map(done), newlyApplied: missing.map(done) };
  } catch (error) {
    throw await explainRefusal(client, error);
  } finally {
    await client.end();
  }
}

async function findDue(client: Client, sql: string, asked: readonly Addition[]): Promise<MigrationStep[]> {
  const ours = (await loadMigrationFiles(join(sql, 'migrations'))).filter((file) => file.id > 0);
  const { rows: found } = await client.query<{ schema: string | null; migrations: string | null }>(
    "select to_regnamespace('taskq')::text as schema, to_regclass('taskq.migrations')::text as migrations",
  );
  const { schema, migrations } = found[0]!;
  const applied = new Map<number, string>();
  if (migrations !== null) {
    const { rows } = await client.query<{ id: number; hash: string }>(
      'select id, hash from taskq.migrations',
    );
    for (const { id, hash } of rows) applied.set(id, hash);
  }
  const newest = Math.max(0, ...applied.keys());
  refuseNewer(newest, ours.length);
  for (const { id, hash, fileName } of ours)
    if (applied.has(id) && applied.get(id) !== hash) throw differs(fileName);
  const functions = await functionsStep(client, sql, migrations !== null);
  if (!functions.applied) {
    const ofRelease = [...(await readFunctions(sql)), ...(await readInstalled(client, sql))];
    await refuseOthersObjects(client, ofRelease);
  }
  const installed = await installedAdditions(client);
  for (const addition of asked)
    if (!installed.includes(addition)) await refuseOthersSchemas(client, addition, sql);
  return [
    { step: 'schema', name: 'taskq', applied: schema !== null && migrations !== null },
    ...ours.map(
      (file): MigrationStep => ({ step: 'migration', name: nameOf(file), applied: applied.has(file.id) }),
    ),
    { step: 'functions', ...functions },
    ...additionSteps(asked, installed),
  ];
}

function additionSteps(asked: readonly Addition[], installed: readonly Addition[]): MigrationStep[] {
  return ADDITIONS.filter((addition) => asked.includes(addition) || installed.includes(addition)).map(
    (name) => ({ step: 'addition', name, applied: installed.includes(name) }),
  );
}

/**
 * The same for a role that may call functions but read no table: based on `get_release`. It cannot see whether an
 * applied migration differs from this package's, or who owns a schema with the name of an addition.
 */
async function findDueByRelease(
  client: Client,
  sql: string,
  asked: readonly Addition[],
): Promise<MigrationStep[]> {
  const ours = (await loadMigrationFiles(join(sql, 'migrations'))).filter((file) => file.id > 0);
  const release = await readRelease(sql);
  const { rows } = await client.query<{ number: number; migration: number }>(
    'select number, migration from taskq.get_release()',
  );
  const stored = rows[0] ?? { number: 0, migration: 0 };
  const { rows: schemas } = await client.query<{ schema: string }>(
    'select nspname as schema from pg_namespace where nspname = any($1)',
    [ADDITIONS],
  );
  refuseNewer(stored.migration, ours.length);
  refuseNewerFunctions(stored.number, release.number);
  return [
    { step: 'schema', name: 'taskq', applied: true },
    ...ours.map(
      (file): MigrationStep => ({
        step: 'migration',
        name: nameOf(file),
        applied: file.id <= stored.migration,
      }),
    ),
    { step: 'functions', name: `release ${release.number}`, applied: stored.number === release.number },
    ...additionSteps(
      asked,
      ADDITIONS.filter((addition) => schemas.some(({ schema }) => schema === addition)),
    ),
  ];
}

function refuseNewer(newest: number, ours: number): void {
  if (newest > ours) throw newer(`it has migration ${newest}, this version has ${ours}`);
}

function refuseNewerFunctions(stored: number, ours: number): void {
  if (stored > ours) throw newer(`its functions are release ${stored}, this version has ${ours}`);
}

async function functionsStep(
  client: Client,
  sql: string,
  exists: boolean,
): Promise<{ name: string; applied: boolean }> {
  const release = await readRelease(sql);
  const name = `release ${release.number}`;
  const { rows: table } = await client.query<{ release: string | null }>(
    "select to_regclass('taskq.release')::text as release",
  );
  if (!exists || table[0]!.release === null) return { name, applied: false };
  const { rows } = await client.query<{ number: number }>('select number from taskq.release');
  const stored = rows[0];
  if (stored === undefined) return { name, applied: false };
  refuseNewerFunctions(stored.number, release.number);
  return { name, applied: stored.number === release.number };
}

/**
 * Runs in the caller's transaction. The `migrate` of postgres-migrations itself makes a transaction of each migration:
 * between two of them, and before the functions, every session would see a schema that no release has. We read and hash
 * the files with it, and record the runs in its table as it would.
 */
async function apply(client: Client, sql: string, steps: readonly MigrationStep[]): Promise<void> {
  const files = await loadMigrationFiles(join(sql, 'migrations'));
  await refuseNonOwner(client);
  await reclaimObjects(client);
  await refuseUntrusted(client);
  for (const { step, name } of steps) {
    if (step === 'schema') await createSchema(client, files[0]!);
    else if (step === 'migration') await runMigration(client, files.find((file) => nameOf(file) === name)!);
    else if (step === 'addition') await applyAddition(client, name as Addition, sql);
    else await applyFunctions(client, sql);
  }
}

function nameOf({ fileName }: { readonly fileName: string }): string {
  return fileName.replace(/\.sql$/, '');
}

async function prepare(client: Client): Promise<void> {
  const { isDirect } = await prepareSession(client);
  if (isDirect) return;
  throw new TaskqError(
    'pooled_connection',
    'migrate needs a direct connection, and this one goes through a pooler',
    {
      hint: 'set directUrl (TASKQ_DIRECT_URL) to the URL of the server itself',
    },
  );
}

function newer(why: string): TaskqError {
  return new TaskqError('schema_newer', `the schema taskq is newer than this version of taskq: ${why}`, {
    hint: 'install a newer version of taskq',
  });
}

function differs(fileName: string): TaskqError {
  return new TaskqError(
    'schema_differs',
    `migration ${fileName} of the schema taskq differs from the one in this version of taskq`,
    {
      hint:
        'before 0.1.0 migrations may change: drain the queue, drop schema taskq cascade (or taskq db reset for the ' +
        'local database), and migrate again',
    },
  );
}
