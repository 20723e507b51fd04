import type { HandlerMap } from './domain/handler-map.ts';
import type { WorkflowPlace } from './domain/task.ts';
import { openDatabase, type Queryable } from './lib/database.ts';
import type { RunSingle } from './lib/open-transaction.ts';
import { type PgClient, queryableOf } from './lib/pg-client.ts';
import { TransactionPool } from './lib/transaction-pool.ts';
import { beginNested, runNested } from './library/nested-transaction.ts';
import type { ShownTaskOf } from './library/task-record.ts';
import { type GivenParent, type GivenPlace, TestRun } from './library/test-run.ts';
import type { Transactions } from './worker/attempt/transact.ts';

export type { TransactionClient } from './lib/open-transaction.ts';
export type { PgClient } from './lib/pg-client.ts';
export { rolledBack } from './library/rolled-back.ts';
export type { GivenParent } from './library/test-run.ts';

export type TestOptions<Handlers extends HandlerMap> = {
  /** Handlers by type, or the directory of their files. All run in this process, regardless of their isolation. */
  readonly handlers: Handlers | string;
  /** The value of `ctx.workflow`, instead of that in the database. */
  readonly workflow?: WorkflowPlace;
  /**
   * The answer of `ctx.parents`, by step, instead of that of the database; a task of no workflow needs `workflow` too.
   */
  readonly parents?: Readonly<Record<string, GivenParent>>;
  /** The value of `ctx.tick`: the tick of the schedule that would have enqueued the task. */
  readonly tick?: Date;
} & (
  | {
      /** URL of the task's database; or pass a `client`. */
      readonly databaseUrl: string;
      readonly client?: undefined;
    }
  | {
      /**
       * Instead of a `databaseUrl`: a connection to run everything on, for example in a transaction that is rolled back
       * afterwards.
       */
      readonly client: PgClient;
      readonly databaseUrl?: undefined;
    }
);

/**
 * Runs a test's task to its end, attempt after attempt. Delays between attempts pass at once because the task's row is
 * aged. Returns the task as it is then. Throws TaskqError if a worker holds the task, if it has no handler, or if it
 * has not ended after 100 attempts, or after as many as it may have; NoSuchTaskError if there is no such task.
 */
export function runTask<Handlers extends HandlerMap>(
  id: string,
  options: TestOptions<Handlers>,
): Promise<ShownTaskOf<Handlers>> {
  return withRun(options, async (run) => (await run.toEnd(id)) as ShownTaskOf<Handlers>);
}

/** Runs one attempt of a task, whether or not it is due. Returns the task as it is then. Throws as `runTask` does. */
export function runAttempt<Handlers extends HandlerMap>(
  id: string,
  options: TestOptions<Handlers>,
): Promise<ShownTaskOf<Handlers>> {
  return withRun(options, async (run) => (await run.once(id)) as ShownTaskOf<Handlers>);
}

async function withRun<Handlers extends HandlerMap, T>(
  { handlers, databaseUrl, client, ...place }: TestOptions<Handlers>,
  work: (run: TestRun) => Promise<T>,
): Promise<T> {
  if (client !== undefined)
    return onceBegun(
      {
        db: queryableOf(client),
        begin: (...mark) => beginNested(client, ...mark),
        run: (statement, read) => runNested(client, statement, read),
      },
      { handlers, place },
      work,
    );
  const applicationName = 'taskq testing';
  const database = openDatabase({ databaseUrl, maxConnections: 1, applicationName });
  const pool = new TransactionPool({ databaseUrl, applicationName, deadlineMs: 30_000 });
  try {
    return await onceBegun(
      {
        db: database,
        begin: (...mark) => pool.begin(...mark),
        run: (statement, read) => pool.run(statement, read),
      },
      { handlers, place },
      work,
    );
  } finally {
    await Promise.all([database.close(), pool.close()]);
  }
}

interface Connected {
  readonly db: Queryable;
  readonly begin: Transactions['begin'];
  readonly run: RunSingle;
}

async function onceBegun<T>(
  { db, begin, run: runSingle }: Connected,
  { handlers, place }: { readonly handlers: HandlerMap | string; readonly place: GivenPlace },
  work: (run: TestRun) => Promise<T>,
): Promise<T> {
  const run = await TestRun.begin(db, handlers, { begin, run: runSingle, place });
  let result: T;
  try {
    result = await work(run);
  } catch (error) {
    // In a failed transaction the cleanup fails too, and leaves nothing behind: report the first error.
    await run.end().catch(() => {});
    throw error;
  }
  await run.end();
  return result;
}
