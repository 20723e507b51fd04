import { isServerError, type Queryable } from '../lib/database.ts';
import { EXIT, TaskqError } from '../lib/errors.ts';
import { latestMigration, readRelease } from './schema-release.ts';

/**
 * Make sure that the schema is there and fits this binary. Throws (exit 3) `schema_missing`, `schema_behind` where it
 * lacks a migration or functions this binary needs, `schema_newer` where it serves no binary as old as this one.
 */
export async function checkSchema(db: Queryable): Promise<void> {
  const release = await readRelease();
  const needed = await latestMigration();
  const stored = await readStored(db);
  if (stored === undefined) {
    throw new TaskqError('schema_missing', 'the database has no schema taskq', {
      exitCode: EXIT.schema,
      hint: 'run taskq migrate',
    });
  }
  if (stored.oldestClient > release.number) {
    throw new TaskqError(
      'schema_newer',
      `the schema taskq needs a binary of release ${stored.oldestClient} or later, this one is ${release.number}`,
      { exitCode: EXIT.schema, hint: 'install the newer taskq' },
    );
  }
  if (stored.migration < needed || stored.number < release.number) {
    throw new TaskqError(
      'schema_behind',
      `the schema taskq stands at migration ${stored.migration} and release ${stored.number}, this binary needs ` +
        `${needed} and ${release.number}`,
      { exitCode: EXIT.schema, hint: 'run taskq migrate' },
    );
  }
}

async function readStored(
  db: Queryable,
): Promise<{ number: number; oldestClient: number; migration: number } | undefined> {
  try {
    const rows = await db.query<{ number: number; oldest_client: number; migration: number | null }>({
      text: `select number, oldest_client, (select max(id) from taskq.migrations) as migration from taskq.release`,
    });
    const row = rows[0];
    return row && { number: row.number, oldestClient: row.oldest_client, migration: row.migration ?? 0 };
  } catch (error) {
    // 3F000, 42P01: no such schema or table.
    if (isServerError(error) && ['3F000', '42P01'].includes(error.code ?? '')) return undefined;
    throw error;
  }
}
