import { borrowedPool } from '../lib/borrowed-pool.ts';
import { openDatabase, type Queryable } from '../lib/database.ts';
import { parseExact } from '../lib/exact-json.ts';
import type { PgPool } from '../lib/pg-client.ts';

/** Where the server reads and writes. */
export interface Databases {
  /** Takes no writes. */
  readonly reads: Queryable;
  /** The same for long reads, so that short reads need not wait for them; an application's pool serves all. */
  readonly longReads: Queryable;
  /** The same for reads that a standby cannot answer. */
  readonly primaryReads: Queryable;
  readonly writes: Queryable;
  /** Closes the connections opened here. */
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
const MOST = { reads: 4, longReads: 6, writes: 10 } as const;

/** Opens no connection before the first statement. */
export function openDatabases({ databaseUrl, pool, readUrl }: DatabasesOptions): Databases {
  const limits = { statementTimeoutMs: STATEMENT_MS, parseJson: parseExact };
  const open = (url: string | undefined, maxConnections: number, readOnly?: true) =>
    url === undefined
      ? undefined
      : openDatabase({
          ...limits,
          databaseUrl: url,
          maxConnections,
          applicationName: 'taskq serve',
          deadlineMs: DEADLINE_MS,
          readOnly,
        });
  const reader = readUrl ?? databaseUrl;
  const reads = open(reader, MOST.reads, true);
  const longReads = open(reader, MOST.longReads, true);
  const primaryReads = readUrl === undefined ? undefined : open(databaseUrl, MOST.longReads, true);
  const writes = open(databaseUrl, MOST.writes);
  const borrowed = (readOnly?: true) => borrowedPool(pool!, { ...limits, readOnly });
  const ofReader = longReads ?? borrowed(true);
  return {
    reads: reads ?? borrowed(true),
    longReads: ofReader,
    primaryReads: primaryReads ?? (readUrl === undefined ? ofReader : borrowed(true)),
    writes: writes ?? borrowed(),
    async close() {
      await Promise.all([reads?.close(), longReads?.close(), primaryReads?.close(), writes?.close()]);
    },
  };
}
