import { TaskqError } from '../lib/errors.ts';
import { describeBlockers } from '../queue/schema/blockers.ts';
import { migrate } from '../queue/schema/migrate.ts';
import { checkedAdditions } from '../queue/schema/schema-release.ts';
import type { ConnectionOptions } from './open-connection.ts';

export interface MigrateSettings {
  /** What to install as well, as `taskq migrate --with` does: `queues`. */
  readonly with?: readonly string[];
  /** How long to retry while other transactions hold what it must change, as text or in milliseconds; default 1 min. */
  readonly patience?: string | number;
  /** Called with a description of those transactions when they are first seen and whenever they change. */
  readonly onBlocked?: (by: string) => void;
}

/** Migrates the database of a queue. Returns the names of the steps that were due. */
export async function migrateFor(
  options: ConnectionOptions,
  patienceMs: number,
  { with: additions = [], onBlocked }: MigrateSettings,
): Promise<readonly string[]> {
  const databaseUrl = options.directUrl ?? ('databaseUrl' in options ? options.databaseUrl : undefined);
  if (databaseUrl === undefined) {
    const message = 'migrate needs a connection of its own: pass directUrl or databaseUrl';
    throw new TaskqError('no_database', message);
  }
  const { newlyApplied } = await migrate({
    databaseUrl,
    patienceMs,
    with: checkedAdditions(additions, 'with'),
    ...(onBlocked && { onBlocked: (by) => onBlocked(describeBlockers(by)) }),
  });
  return newlyApplied.map(({ step, name }) => `${step} ${name}`);
}
