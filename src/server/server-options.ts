import type { PgPool } from '../lib/pg-client.ts';
import type { Caller } from './caller.ts';

/** Returns who sends a request, or null if that is unknown. */
export type Authorize = (request: Request) => Caller | null | Promise<Caller | null>;

export type ServerOptions = {
  /**
   * Identifies the caller of a request without a token of `taskq tokens`, by your application's own means; null: it is
   * refused (401). Without this, every caller needs a token.
   */
  readonly authorize?: Authorize;
  /** The path below which the server is mounted; default `/`. */
  readonly basePath?: string;
  /** Take writes, from callers whose role may; default: only read, in sessions that cannot write. */
  readonly write?: boolean;
  /** URL of a standby to read from; events are read from the primary. */
  readonly readUrl?: string;
  /** The names in `Host` that are accepted, without ports; default: all. */
  readonly hosts?: readonly string[];
  /** Called with the errors hidden from clients: faults of the server and of the database. */
  readonly onError?: (error: unknown) => void;
} & (
  | {
      /** URL of the database; or pass a `pool`. */
      readonly databaseUrl: string;
      readonly pool?: undefined;
    }
  | {
      /** The application's `pg.Pool`. Its sessions are not changed, and it is never ended. */
      readonly pool: PgPool;
      readonly databaseUrl?: undefined;
    }
);

/** A server to mount. */
export interface TaskqServer {
  /** Answers a request; never throws. */
  fetch(request: Request): Promise<Response>;
  /** Closes what the server opened, and ends waiting requests. */
  close(): Promise<void>;
}
