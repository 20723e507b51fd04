import { borrowedPool } from '../lib/borrowed-pool.ts';
import { openDatabase, type Queryable } from '../lib/database.ts';
import { parseExact } from '../lib/exact-json.ts';
import type { PgPool } from '../lib/pg-client.ts';

/** Where the server reads and writes. */
export interface Databases {
  /** Takes no writes. */
  readonly reads: Queryable;
  readonly writes: Queryable;
  /** Closes what was opened here. */
  close(): Promise<void>;
}

export interface DatabasesOptions {
  readonly databaseUrl?: string | undefined;
  readonly pool?: PgPool | undefined;
  readonly readUrl?: string | undefined;
}

/** The server ends a statement after this many milliseconds. */
const STATEMENT_MS = 5000;
/** The same for a server that does not answer. */
const DEADLINE_MS = 10_000;
/** The most connections of each kind. */
const MOST = 10;

/** Opens no connection before the first statement. */
export function openDatabases({ databaseUrl, pool, readUrl }: DatabasesOptions): Databases {
  const limits = { statementTimeoutMs: STATEMENT_MS, parseJson: parseExact };
  const open = (url: string, readOnly?: true) =>
    openDatabase({
      ...limits,
      databaseUrl: url,
      maxConnections: MOST,
      applicationName: 'taskq serve',
      deadlineMs: DEADLINE_MS,
      readOnly,
    });
  const reader = readUrl ?? databaseUrl;
  const opened = reader === undefined ? undefined : open(reader, true);
  const writer = databaseUrl === undefined ? undefined : open(databaseUrl);
  return {
    reads: opened ?? borrowedPool(pool!, { ...limits, readOnly: true }),
    writes: writer ?? borrowedPool(pool!, limits),
    async close() {
      await Promise.all([opened?.close(), writer?.close()]);
    },
  };
}
