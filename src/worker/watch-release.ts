import type { Queryable } from '../lib/database.ts';
import { TaskqError } from '../lib/errors.ts';
import { refuseOutdated } from '../queue/schema/check-schema.ts';
import type { WorkerState } from './worker-state.ts';

/** How often to check without a sign that the schema has changed: most newer releases still serve this one. */
const CHECK_MS = 30_000;

/**
 * End the worker once a newer release was migrated that no longer serves `release`. Checks at intervals, and at once
 * after a refused statement or an outage. Resolves when the worker stops.
 */
export async function watchRelease(db: Queryable, release: number, state: WorkerState): Promise<void> {
  const { schemaChanged, shutdown } = state;
  while ((await schemaChanged.wait(CHECK_MS, shutdown.stop)) !== 'aborted') {
    try {
      await refuseOutdated(db, release);
    } catch (error) {
      if (error instanceof TaskqError && error.code === 'schema_newer')
        shutdown.outdated(`${error.message} — ${error.hint}`);
      else state.logFailedStatement(error);
    }
  }
}
