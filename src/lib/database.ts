import pg from 'pg';
import { destroy, withDeadline } from './driver.ts';
import { typesWith } from './driver-types.ts';
import type { ErrorCode } from './error-codes.ts';
import { TaskqError } from './errors.ts';
import { refuseReadOnly } from './read-only.ts';
import { redactUrl } from './redact-url.ts';
import { hintToConnect } from './server-trouble.ts';
import { askSession, prepareSession } from './session.ts';
import type { Session, SessionOptions, SessionStatement } from './session-types.ts';
import { type Connected, sharedConnection } from './shared-connection.ts';
import { messageOf } from './thrown.ts';
import { asUnsent } from './unsent.ts';
import { within } from './within.ts';

export interface Statement extends SessionStatement {
  /** Overrides the database's deadline, in milliseconds. */
  readonly deadlineMs?: number;
}

/** Runs one statement and returns its rows. */
export interface Queryable {
  query<Row extends object>(statement: Statement): Promise<Row[]>;
}

export interface Database extends Queryable {
  /** Whether connections reach the server itself, not a pooler; false before the first. */
  readonly isDirect: boolean;
  /**
   * Waits for the statements that run or wait for a connection, then closes every connection. After `withinMs`, if given,
   * breaks those left.
   */
  close(withinMs?: number): Promise<void>;
}

export interface DatabaseOptions extends SessionOptions {
  readonly databaseUrl: string;
  /**
   * Maximum number of connections. `pipeline`: one, which takes the statements in the order of the calls, each without
   * waiting for the answer to the one before; if it breaks, or one misses its deadline, all in flight fail.
   */
  readonly maxConnections: number | 'pipeline';
  /** Name of the connections in `pg_stat_activity`. */
  readonly applicationName: string;
  /** Milliseconds after which a statement without an answer fails and its connection is destroyed; default 30 s. */
  readonly deadlineMs?: number;
  /** Parses json and jsonb values; default JSON.parse. */
  readonly parseJson?: (text: string) => unknown;
  /** `write`: fail with `read_only` (TaskqError) if the server takes no writes; default `any`. */
  readonly access?: 'write' | 'any';
}

/** A pool's connection, prepared for our statements. */
interface Opened {
  readonly session: Session;
  /** How many times a connection had found its server read-only when this one was opened. */
  readonly era: number;
}

/**
 * Opens a pool of connections; the first is made by the first statement. A statement fails with the server's error, or
 * with a TaskqError: `connection_failed` if there is no server, `read_only` if `access` is `write` and the server takes
 * no writes, `statement_pooling` if a pooler takes no transactions, or `deadline_passed` if the server does not answer.
 * In the last case the connection is destroyed, never used again. So is every connection once a server has become
 * read-only: the next one may reach the primary.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const { databaseUrl, deadlineMs = 30_000 } = options;
  const known = new WeakMap<pg.ClientBase, Opened>();
  /** Pending `pool.connect()` calls, which `pool.end()` would never settle. */
  const waiting = new Set<Promise<unknown>>();
  let era = 0;
  let isDirect = false;
  const pool = openPool(options);

  const connectAny = async (): Promise<pg.PoolClient> => {
    const connecting = pool.connect();
    waiting.add(connecting);
    try {
      return await connecting;
    } catch (error) {
      throw unreachable(databaseUrl, error);
    } finally {
      waiting.delete(connecting);
    }
  };
  const connect = async (): Promise<Connected> => {
    for (;;) {
      const client = await connectAny();
      const release = (broken?: Error | boolean) => client.release(broken);
      const opened = known.get(client);
      if (opened?.era === era) return { client, session: opened.session, release };
      if (opened !== undefined) {
        client.release(true);
        continue;
      }
      try {
        const session = await withDeadline(client, deadlineMs, () => explore(client, options));
        known.set(client, { session, era });
        isDirect = session.isDirect;
        return { client, session, release };
      } catch (error) {
        client.release(true);
        throw error;
      }
    }
  };

  const take = options.maxConnections === 'pipeline' ? sharedConnection(connect) : connect;
  return {
    get isDirect() {
      return isDirect;
    },
    async query<Row extends object>(statement: Statement): Promise<Row[]> {
      const { client, session, release } = await take().catch((error) => {
        throw asUnsent(error);
      });
      try {
        const rows = await withDeadline(client, statement.deadlineMs ?? deadlineMs, () =>
          askSession<Row>(client, session, statement),
        );
        release();
        return rows;
      } catch (error) {
        if (isReadOnly(error)) era += 1;
        release(isServerError(error) ? false : error instanceof Error ? error : true);
        throw error;
      }
    },
    async close(withinMs) {
      const clients = clientsOf(pool);
      const ended = Promise.allSettled(waiting).then(() => pool.end());
      if (withinMs === undefined || (await within(withinMs, ended))) return ended;
      for (const client of clients) destroy(client);
    },
  };
}

function openPool({ databaseUrl, maxConnections, applicationName, parseJson }: DatabaseOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    ...(maxConnections === 'pipeline' ? PIPELINE : { max: maxConnections }),
    application_name: applicationName,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: true,
    keepAlive: true,
    ...(parseJson && { types: typesWith(parseJson) }),
  });
  // A connection that breaks while idle is replaced at the next statement, which reports any error.
  pool.on('error', () => {});
  // One that breaks in use reports it twice: through its statement, and as an event that needs a listener. It may break
  // the moment it is made, so a listener added after `pool.connect()` would be too late.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** Its types do not declare `pipeline`. */
const PIPELINE: pg.PoolConfig & { readonly pipeline: true } = { max: 1, pipeline: true };

/** The connections of a pool, also those that are being made; its types do not declare them. */
function clientsOf(pool: pg.Pool): readonly pg.ClientBase[] {
  return [...(pool as unknown as { readonly _clients: readonly pg.ClientBase[] })._clients];
}

/** The server's report of an error. (The driver's own type would require `@types/pg` in every application.) */
export interface ServerError extends Error {
  /** SQLSTATE. */
  readonly code: string | undefined;
  readonly constraint: string | undefined;
  readonly detail: string | undefined;
  readonly hint: string | undefined;
  /** Of the table concerned, if any. */
  readonly schema: string | undefined;
  /** The server function that raised it. */
  readonly routine: string | undefined;
}

/** Whether the server refused the statement and left the connection intact. */
export function isServerError(error: unknown): error is ServerError {
  return error instanceof pg.DatabaseError && !isLeaving(error);
}

/**
 * The server or an administrator is ending our connection (classes 57P and 08), or the server is no longer primary. An
 * ERROR ends no connection: a trigger raises it, for example because a connection that it opens itself fails.
 */
function isLeaving(error: pg.DatabaseError): boolean {
  const { code, severity } = error;
  return code === undefined || (/^(57P|08)/.test(code) && severity !== 'ERROR') || isReadOnly(error);
}

/** Whether the server takes no writes: it is a standby, or was made read-only. The statement had no effect. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '25006';
}

/**
 * Whether the same statement may succeed later: there is no connection, it conflicted with another transaction, it was
 * cancelled, or the server lacked resources.
 */
export function isPassing(error: unknown): boolean {
  if (!isServerError(error)) return isUnanswered(error);
  const code = error.code ?? '';
  return ['40001', '40P01', '55P03', '57014', '53300', '53200', '53100'].includes(code);
}

/**
 * Whether no usable server answered the statement: there is no connection, none is available (53300), or the server
 * takes no writes.
 */
export function isUnanswered(error: unknown): boolean {
  if (error instanceof TaskqError) return UNANSWERED.includes(error.code);
  if (isServerError(error)) return error.code === '53300';
  return error instanceof Error && (error instanceof pg.DatabaseError || isSocketError(error));
}

const UNANSWERED: readonly ErrorCode[] = ['connection_failed', 'deadline_passed', 'read_only'];

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

/**
 * Throws `statement_pooling` (TaskqError) for a pooler that assigns a server per statement: it takes no transactions,
 * and ends a client that begins one.
 */
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
        hint: 'set its pool_mode to transaction or session, or connect to the server directly',
        cause,
      },
    );
  }
  await client.query('rollback');
}

function unreachable(databaseUrl: string, cause: unknown): unknown {
  if (isServerError(cause)) return cause;
  // Use the server's own words if it is there and refuses (starting up, shutting down).
  const code = cause instanceof pg.DatabaseError ? undefined : (cause as NodeJS.ErrnoException).code;
  const why = code ?? messageOf(cause);
  return new TaskqError('connection_failed', `cannot reach the database ${redactUrl(databaseUrl)}: ${why}`, {
    hint: hintToConnect(why),
    cause,
  });
}
