import type { HandlerMap } from './domain/handler-map.ts';
import { openDatabase, type Queryable } from './lib/database.ts';
import { type PgClient, queryableOf } from './lib/pg-client.ts';
import { TestRun } from './library/test-run.ts';
import type { ShownTaskOf } from './queue/task-record.ts';

export type { PgClient } from './lib/pg-client.ts';

export type TestOptions<Handlers extends HandlerMap> = {
  /** Handlers by type, or the directory of their files. All run in this process, whatever their isolation. */
  readonly handlers: Handlers | string;
} & (
  | {
      /** The database in which the task is; or give a `client`. */
      readonly databaseUrl: string;
      readonly client?: undefined;
    }
  | {
      /** Instead of a `databaseUrl`: everything happens on it, in a transaction that is rolled back afterwards, say. */
      readonly client: PgClient;
      readonly databaseUrl?: undefined;
    }
);

/**
 * Run a task of a test to its end: attempt after attempt, and whatever time it has to wait between them passes at once,
 * for its row is aged. Returns the task as it is then. Throws TaskqError for one that a worker has, and for one that has
 * not ended after a thousand attempts.
 */
export function runTask<Handlers extends HandlerMap>(
  id: string,
  options: TestOptions<Handlers>,
): Promise<ShownTaskOf<Handlers>> {
  return withRun(options, async (run) => (await run.toEnd(id)) as ShownTaskOf<Handlers>);
}

/** Run one attempt of a task, be it due or not. Returns the task as it is then. Throws as `runTask` does. */
export function runAttempt<Handlers extends HandlerMap>(
  id: string,
  options: TestOptions<Handlers>,
): Promise<ShownTaskOf<Handlers>> {
  return withRun(options, async (run) => (await run.once(id)) as ShownTaskOf<Handlers>);
}

async function withRun<Handlers extends HandlerMap, T>(
  { handlers, databaseUrl, client }: TestOptions<Handlers>,
  work: (run: TestRun) => Promise<T>,
): Promise<T> {
  if (client !== undefined) return onceBegun(queryableOf(client), handlers, work);
  const database = openDatabase({ databaseUrl, maxConnections: 1, applicationName: 'taskq testing' });
  try {
    return await onceBegun(database, handlers, work);
  } finally {
    await database.close();
  }
}

async function onceBegun<T>(
  db: Queryable,
  handlers: HandlerMap | string,
  work: (run: TestRun) => Promise<T>,
): Promise<T> {
  const run = await TestRun.begin(db, handlers);
  let result: T;
  try {
    result = await work(run);
  } catch (error) {
    // In a transaction that has failed nothing can be said, and nothing is left behind: what failed is told.
    await run.end().catch(() => {});
    throw error;
  }
  await run.end();
  return result;
}
