import { openDatabase, type Queryable } from '../lib/database.ts';
import { type PgPool, queryableOfPool } from '../lib/pg-client.ts';
import type { SynchronousCommit } from '../lib/synchronous-commit.ts';
import { type EventPagesOptions, eventPages } from '../queue/inspect/event-pages.ts';
import type { EventRow } from '../queue/inspect/read-events.ts';
import { EndWaiter, TASK_ENDS } from '../queue/protocol/end-waiter.ts';
import type { EndRow } from '../queue/protocol/get-ends.ts';
import { WORKFLOW_ENDS, type WorkflowEndRow } from '../queue/protocol/get-workflow-ends.ts';
import { checkSchema } from '../queue/schema/check-schema.ts';

export type ConnectionOptions =
  | {
      readonly databaseUrl: string;
      readonly synchronousCommit?: SynchronousCommit | undefined;
      /** URL of the same database bypassing a pooler, for LISTEN. */
      readonly directUrl?: string | undefined;
    }
  | { readonly pool: PgPool; readonly directUrl?: string | undefined };

type OnUrl = Extract<ConnectionOptions, { readonly databaseUrl: string }>;

/** A connection to a database whose schema fits. */
export interface Connection {
  readonly db: Queryable;
  readonly waiter: EndWaiter<EndRow>;
  readonly workflowWaiter: EndWaiter<WorkflowEndRow>;
  /** Yields the ends of tasks. */
  eventPages(options: EventPagesOptions): AsyncGenerator<readonly EventRow[], void, undefined>;
  /** Rejects pending waits with `why` and closes what was opened here; the application's pool stays open. */
  close(why: Error): Promise<void>;
}

const APPLICATION = 'taskq';
/** Maximum number of an application's statements at a time. */
const MAX_CONNECTIONS = 10;

/** Connects to the database. Throws if it cannot be reached or its schema does not fit. */
export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  const connection = 'pool' in options ? onPool(options.pool) : onUrl(options);
  try {
    await checkSchema(connection.db);
  } catch (error) {
    await connection.close();
    throw error;
  }
  const where = {
    db: connection.db,
    connection: options.directUrl ?? connection.listening,
    applicationName: APPLICATION,
  };
  const waiter = new EndWaiter({ ...where, source: TASK_ENDS });
  const workflowWaiter = new EndWaiter({ ...where, source: WORKFLOW_ENDS });
  return {
    db: connection.db,
    waiter,
    workflowWaiter,
    eventPages: (asked) => eventPages(connection.db, asked),
    async close(why) {
      await Promise.all([waiter.close(why), workflowWaiter.close(why)]);
      await connection.close();
    },
  };
}

function onUrl({ databaseUrl, synchronousCommit }: OnUrl) {
  const database = openDatabase({
    databaseUrl,
    synchronousCommit,
    maxConnections: MAX_CONNECTIONS,
    applicationName: APPLICATION,
  });
  return { db: database, listening: databaseUrl as string | object, close: () => database.close() };
}

/** Listens on a separate connection: waiting would otherwise occupy one of the pool. */
function onPool(pool: PgPool) {
  return { db: queryableOfPool(pool), listening: pool.options, close: async () => {} };
}
