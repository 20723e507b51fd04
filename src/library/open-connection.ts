import { openDatabase, type Queryable } from '../lib/database.ts';
import { type PgPool, queryableOf } from '../lib/pg-client.ts';
import type { SynchronousCommit } from '../lib/synchronous-commit.ts';
import { EndWatch } from '../queue/protocol/end-watch.ts';
import { checkSchema } from '../queue/schema/check-schema.ts';

export type ConnectionOptions =
  | {
      readonly databaseUrl: string;
      readonly synchronousCommit?: SynchronousCommit | undefined;
      /** The same database past a pooler, to listen on. */
      readonly directUrl?: string | undefined;
    }
  | { readonly pool: PgPool; readonly directUrl?: string | undefined };

type OnUrl = Extract<ConnectionOptions, { readonly databaseUrl: string }>;

/** A way to a database whose schema fits. */
export interface Connection {
  readonly db: Queryable;
  readonly watch: EndWatch;
  /** What the application brought stays open. */
  close(why: Error): Promise<void>;
}

const APPLICATION = 'taskq';
/** At most so many of an application's statements at a time. */
const MAX_CONNECTIONS = 10;

/** Open a way to the database. Throws where it cannot be reached or the schema does not fit. */
export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  const connection = 'pool' in options ? onPool(options.pool) : onUrl(options);
  try {
    await checkSchema(connection.db);
  } catch (error) {
    await connection.close();
    throw error;
  }
  const watch = new EndWatch({
    db: connection.db,
    connection: options.directUrl ?? connection.listening,
    applicationName: APPLICATION,
  });
  return {
    db: connection.db,
    watch,
    async close(why) {
      await watch.close(why);
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

/** A connection taken from the pool to listen would be missing in it, for as long as somebody waits. */
function onPool(pool: PgPool) {
  return { db: queryableOf(pool), listening: pool.options, close: async () => {} };
}
