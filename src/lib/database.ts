import pg from 'pg';
import { withDeadline } from './driver.ts';
import { EXIT, TaskqError } from './errors.ts';
import { refuseReadOnly } from './read-only.ts';
import { redactUrl } from './redact-url.ts';
import { askSession, prepareSession } from './session.ts';
import type { Session, SessionOptions, SessionStatement } from './session-types.ts';

export interface Statement extends SessionStatement {
  /** Another deadline than the database's own. */
  readonly deadlineMs?: number;
}

/** Something that runs one statement and returns its rows. */
export interface Queryable {
  query<Row extends object>(statement: Statement): Promise<Row[]>;
}

export interface Database extends Queryable {
  /** Waits for what runs, then closes every connection. */
  close(): Promise<void>;
}

export interface DatabaseOptions extends SessionOptions {
  readonly databaseUrl: string;
  /** At most so many connections at once. */
  readonly maxConnections: number;
  /** How the connections are named in `pg_stat_activity`. */
  readonly applicationName: string;
  /** A statement that has not answered by then fails, and its connection is destroyed; 30 s unless told. */
  readonly deadlineMs?: number;
  /** How a value of type json or jsonb is read; JSON.parse unless told. */
  readonly parseJson?: (text: string) => unknown;
  /** `write`: a server that takes no writes is as good as none; it may take some, unless told. */
  readonly access?: 'write' | 'any';
}

/** A connection of a pool, once it is ours to use. */
interface Opened {
  readonly session: Session;
  /** How often a connection had left the primary server when this one was made. */
  readonly era: number;
}

/**
 * Opens a pool of connections; none is made before the first statement. A statement fails with the server's error,
 * with `connection_failed` (TaskqError) where there is no server, with `read_only` (TaskqError) where `access` is
 * `write` and it takes none, with `statement_pooling` (TaskqError) where a pooler takes no transactions, or with
 * `deadline_passed` (TaskqError) where the server does not answer: its connection is then destroyed, never used again.
 * So is every connection once a server has become read-only: the next one may find the primary.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const { databaseUrl, maxConnections, applicationName, deadlineMs = 30_000, parseJson } = options;
  const known = new WeakMap<pg.ClientBase, Opened>();
  let era = 0;
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: maxConnections,
    application_name: applicationName,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: true,
    keepAlive: true,
    ...(parseJson && { types: typesWith(parseJson) }),
  });
  // A connection that breaks while nobody uses it is replaced at the next statement, which tells.
  pool.on('error', () => {});
  // One that breaks in use says so twice: by its statement, and by an event that somebody has to hear. It may break
  // in the moment it is made, so not only after `pool.connect()`.
  pool.on('connect', (client) => client.on('error', () => {}));

  const connectAny = async (): Promise<pg.PoolClient> => {
    try {
      return await pool.connect();
    } catch (error) {
      throw unreachable(databaseUrl, error);
    }
  };
  const connect = async (): Promise<{ client: pg.PoolClient; session: Session }> => {
    for (;;) {
      const client = await connectAny();
      const opened = known.get(client);
      if (opened?.era === era) return { client, session: opened.session };
      if (opened !== undefined) {
        client.release(true);
        continue;
      }
      try {
        const session = await withDeadline(client, deadlineMs, () => explore(client, options));
        known.set(client, { session, era });
        return { client, session };
      } catch (error) {
        client.release(true);
        throw error;
      }
    }
  };

  return {
    async query<Row extends object>(statement: Statement): Promise<Row[]> {
      const { client, session } = await connect();
      try {
        const rows = await withDeadline(client, statement.deadlineMs ?? deadlineMs, () =>
          askSession<Row>(client, session, statement),
        );
        client.release();
        return rows;
      } catch (error) {
        if (isReadOnly(error)) era += 1;
        client.release(isServerError(error) ? false : error instanceof Error ? error : true);
        throw error;
      }
    },
    close: () => pool.end(),
  };
}

function typesWith(parseJson: (text: string) => unknown): pg.CustomTypesConfig {
  const json: readonly number[] = [pg.types.builtins.JSON, pg.types.builtins.JSONB];
  const getTypeParser = (id: number, format: 'text' | 'binary') =>
    json.includes(id) ? parseJson : pg.types.getTypeParser(id, format);
  return { getTypeParser: getTypeParser as typeof pg.types.getTypeParser };
}

/** What the server says of an error. (The driver's own type would ask every application for `@types/pg`.) */
export interface ServerError extends Error {
  /** SQLSTATE. */
  readonly code: string | undefined;
  readonly constraint: string | undefined;
  readonly detail: string | undefined;
  /** Of the table that it speaks of, if it does. */
  readonly schema: string | undefined;
  /** The function of the server that raised it. */
  readonly routine: string | undefined;
}

/** True where the server itself refused: the connection is as good as before. */
export function isServerError(error: unknown): error is ServerError {
  return error instanceof pg.DatabaseError && !isLeaving(error);
}

/** The server, or somebody, is ending our connection (classes 57P and 08), or it is the primary server no longer. */
function isLeaving(error: pg.DatabaseError): boolean {
  return error.code === undefined || /^(57P|08)/.test(error.code) || isReadOnly(error);
}

/** The server takes no writes: it is a standby, or was made read-only. Nothing of the statement was done. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '25006';
}

/** True where the server has answered that nothing of the statement was done. */
export function isUndone(error: unknown): boolean {
  return isServerError(error) || isReadOnly(error);
}

/** True where the same statement may succeed later: no connection, or a conflict with another transaction. */
export function isPassing(error: unknown): boolean {
  if (!isServerError(error)) return isUnanswered(error);
  const code = error.code ?? '';
  return ['40001', '40P01', '55P03', '57014', '53300', '53200', '53100'].includes(code);
}

/**
 * True where no server that we need has answered the statement: there is no connection, none to be had (53300), or the
 * one there is takes no writes.
 */
export function isUnanswered(error: unknown): boolean {
  if (error instanceof TaskqError)
    return ['connection_failed', 'deadline_passed', 'read_only'].includes(error.code);
  if (isServerError(error)) return error.code === '53300';
  return error instanceof Error && (error instanceof pg.DatabaseError || isSocketError(error));
}

function isSocketError(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code !== undefined
    ? /^E[A-Z]+$/.test(code)
    : /Connection terminated|not queryable|timeout/i.test(error.message);
}

async function explore(client: pg.PoolClient, options: DatabaseOptions): Promise<Session> {
  const session = await prepareSession(client, options);
  if (options.access === 'write') refuseReadOnly(session, options.databaseUrl);
  if (!session.isDirect) await refuseStatementPooling(client, options.databaseUrl);
  return session;
}

/** A pooler that lends a server for one statement takes no transactions, and ends who begins one. */
async function refuseStatementPooling(client: pg.PoolClient, databaseUrl: string): Promise<void> {
  try {
    await client.query('begin; set local idle_in_transaction_session_timeout = 0');
  } catch (cause) {
    if (!(cause instanceof pg.DatabaseError) || cause.code !== '08P01') throw cause;
    const where = redactUrl(databaseUrl);
    throw new TaskqError(
      'statement_pooling',
      `the pooler at ${where} does not support transactions: ${cause.message}`,
      {
        exitCode: EXIT.usage,
        hint: 'set its pool_mode to transaction or session, or connect to the server directly',
        cause,
      },
    );
  }
  await client.query('rollback');
}

function unreachable(databaseUrl: string, cause: unknown): unknown {
  if (isServerError(cause)) return cause;
  // The server's own words where it is there and refuses (it is starting, it is shutting down).
  const code = cause instanceof pg.DatabaseError ? undefined : (cause as NodeJS.ErrnoException).code;
  const why = code ?? (cause instanceof Error ? cause.message : String(cause));
  return new TaskqError('connection_failed', `cannot reach the database ${redactUrl(databaseUrl)}: ${why}`, {
    hint: 'check that the server is running and that host and port are right',
    cause,
  });
}
