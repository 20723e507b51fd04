import { openDatabase } from '../../lib/database.ts';
import type { ErrorCode } from '../../lib/error-codes.ts';
import { TaskqError } from '../../lib/errors.ts';
import { checkSchema } from '../../queue/schema/check-schema.ts';
import { migrate } from '../../queue/schema/migrate.ts';

/** Bring an embedded database up to this binary without asking. Throws `schema_newer` (exit 3) where it is newer. */
export async function migrateIfDue(databaseUrl: string): Promise<void> {
  const db = openDatabase({ databaseUrl, maxConnections: 1, applicationName: 'taskq' });
  try {
    await checkSchema(db);
  } catch (error) {
    if (!(error instanceof TaskqError) || !DUE.includes(error.code)) throw error;
    await migrate({ databaseUrl });
  } finally {
    await db.close();
  }
}

const DUE: readonly ErrorCode[] = ['schema_missing', 'schema_behind'];
