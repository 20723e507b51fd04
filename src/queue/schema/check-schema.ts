import { isServerError, type Queryable } from '../../lib/database.ts';
import { TaskqError } from '../../lib/errors.ts';
import { latestMigration, readRelease } from './schema-release.ts';

/**
 * Check that the schema exists and fits this binary. Throws (exit 3) `schema_missing`, `schema_behind` where it lacks a
 * migration or functions this binary needs, `schema_newer` where it no longer serves a binary this old. Returns the
 * binary's release, for `refuseOutdated`: its file may be replaced while the binary runs.
 */
export async function checkSchema(db: Queryable): Promise<number> {
  const release = await readRelease();
  const needed = await latestMigration();
  const stored = await readStored(db);
  if (stored === undefined) {
    throw new TaskqError('schema_missing', 'the database has no schema taskq', {
      hint: 'run taskq migrate',
    });
  }
  refuseOlder(release.number, stored.oldestClient);
  if (stored.migration < needed || stored.number < release.number) {
    throw behind(
      `is at migration ${stored.migration} and release ${stored.number}, this version needs ` +
        `${needed} and ${release.number}`,
    );
  }
  return release.number;
}

/** Check that the schema still serves a binary of this release, which started on it. Throws (exit 3) `schema_newer`. */
export async function refuseOutdated(db: Queryable, release: number): Promise<void> {
  const stored = await readStored(db);
  if (stored !== undefined) refuseOlder(release, stored.oldestClient);
}

function refuseOlder(release: number, oldestClient: number): void {
  if (oldestClient <= release) return;
  throw new TaskqError(
    'schema_newer',
    `the schema taskq needs taskq of release ${oldestClient} or later, this one is ${release}`,
    { hint: 'install a newer version of taskq' },
  );
}

interface StoredRelease {
  readonly number: number;
  readonly oldestClient: number;
  readonly migration: number;
}

/** Read by a function: a role that may only call functions may read no table. Undefined: there is no schema of ours. */
async function readStored(db: Queryable): Promise<StoredRelease | undefined> {
  try {
    const rows = await db.query<{ number: number; oldest_client: number; migration: number }>({
      text: 'select number, oldest_client, migration from taskq.get_release()',
    });
    const row = rows[0];
    return row && { number: row.number, oldestClient: row.oldest_client, migration: row.migration };
  } catch (error) {
    // 3F000, 42883: no such schema or function.
    if (!isServerError(error) || !['3F000', '42883'].includes(error.code ?? '')) throw error;
    if (!(await hasTables(db))) return undefined;
    throw behind('was created by a version that recorded no release');
  }
}

async function hasTables(db: Queryable): Promise<boolean> {
  const text = "select to_regclass('taskq.release') is not null as there";
  return (await db.query<{ there: boolean }>({ text }))[0]!.there;
}

function behind(why: string): TaskqError {
  return new TaskqError('schema_behind', `the schema taskq ${why}`, {
    hint: 'run taskq migrate',
  });
}
