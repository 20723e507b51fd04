import type { Database } from '../lib/database.ts';
import { TaskqError } from '../lib/errors.ts';
import { checkSchema } from '../queue/check-schema.ts';
import type { ChosenDatabase } from './choose-database.ts';

/**
 * Make sure that the schema fits this binary. An embedded database is migrated without asking, a configured one
 * never: there it throws what `checkSchema` throws (exit 3).
 */
export async function prepareSchema(db: Database, chosen: ChosenDatabase): Promise<void> {
  try {
    await checkSchema(db);
  } catch (error) {
    if (chosen.kind !== 'embedded' || !isDue(error)) throw error;
    const { migrate } = await import('../queue/migrate.ts');
    await migrate({ databaseUrl: chosen.directUrl });
  }
}

function isDue(error: unknown): boolean {
  return error instanceof TaskqError && ['schema_missing', 'schema_behind'].includes(error.code);
}
