import type { Queryable } from '../../lib/database.ts';
import { TaskqError } from '../../lib/errors.ts';
import type { Wakeup } from '../../lib/wakeup.ts';
import { refuseOutdated } from '../../queue/schema/check-schema.ts';

export interface WatchReleaseOptions {
  readonly db: Queryable;
  /** Triggered when the schema may have changed. */
  readonly schemaChanged: Wakeup;
  readonly stop: AbortSignal;
  /** The schema no longer serves the release. */
  readonly onOutdated: (why: string) => void;
  readonly onError: (error: unknown) => void;
}

/** How often to check without a sign that the schema has changed: most newer releases still serve this one. */
const CHECK_MS = 30_000;

/**
 * Report once a newer release was migrated that no longer serves `release`. Checks at intervals, and at once after a
 * refused statement or an outage. Resolves when the worker stops.
 */
export async function watchRelease(
  release: number,
  { db, schemaChanged, stop, onOutdated, onError }: WatchReleaseOptions,
): Promise<void> {
  while ((await schemaChanged.wait(CHECK_MS, stop)) !== 'aborted') {
    try {
      await refuseOutdated(db, release);
    } catch (error) {
      if (error instanceof TaskqError && error.code === 'schema_newer')
        onOutdated(`${error.message} — ${error.hint}`);
      else onError(error);
    }
  }
}
