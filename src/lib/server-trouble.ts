import { TaskqError } from './errors.ts';
import { redactUrl } from './redact-url.ts';
import { messageOf } from './thrown.ts';
import { isUnsent } from './unsent.ts';

/** A server's error, recognized by its shape: an application may use another copy of the driver. */
export interface AnyServerError extends Error {
  /** SQLSTATE. */
  readonly code: string;
  readonly hint?: string;
}

export function isAnyServerError(error: unknown): error is AnyServerError {
  return (
    error instanceof Error &&
    'severity' in error &&
    typeof (error as Error & { code?: unknown }).code === 'string'
  );
}

/**
 * Whether the statement had no effect: there was no connection to send it on, or the server refused it with an error
 * other than the end of the connection (classes 57P and 08).
 */
export function isUndone(error: unknown): boolean {
  return isUnsent(error) || (isAnyServerError(error) && !/^(57P|08)/.test(error.code));
}

/** A group of server errors that are the server's own trouble, and what to do about them. */
interface Trouble {
  /** The beginning of the SQLSTATE, or all of it. */
  readonly state: string;
  readonly code: 'database_refused' | 'database_trouble' | 'connection_failed' | 'read_only';
  readonly hint: string;
}

/** The first match applies. */
const TROUBLES: readonly Trouble[] = [
  { state: '08', code: 'connection_failed', hint: 'try again' },
  {
    state: '25006',
    code: 'read_only',
    hint: 'connect to the primary server, or look at default_transaction_read_only',
  },
  {
    state: '28',
    code: 'database_refused',
    hint: "check the user, the password and the server's pg_hba.conf",
  },
  { state: '3D', code: 'database_refused', hint: 'create the database, or correct the URL' },
  { state: '53100', code: 'database_trouble', hint: "free space on the server's disk" },
  { state: '53200', code: 'database_trouble', hint: 'give the server more memory, or open fewer sessions' },
  {
    state: '53300',
    code: 'database_trouble',
    hint: 'raise max_connections or use a pooler; a worker process opens up to five connections, one more for tasks of groups, and one for each open ctx.transaction',
  },
  { state: '53', code: 'database_trouble', hint: "see the server's log for the resource it lacks" },
  {
    state: '57014',
    code: 'database_trouble',
    hint: 'the statement was cancelled or reached a time limit: try again',
  },
  {
    state: '57P04',
    code: 'database_refused',
    hint: 'the database was dropped: create it or correct the URL',
  },
  {
    state: '57P',
    code: 'connection_failed',
    hint: 'the server is stopping or starting, or the session was terminated: try again',
  },
  { state: '57', code: 'database_trouble', hint: 'try again' },
  {
    state: '58',
    code: 'database_trouble',
    hint: 'the server cannot access its files: check its log and its disk',
  },
  {
    state: 'XX001',
    code: 'database_trouble',
    hint: "data is corrupted: see the server's log and restore a backup",
  },
  {
    state: 'XX002',
    code: 'database_trouble',
    hint: "an index is corrupted: see the server's log and reindex",
  },
  {
    state: 'XX',
    code: 'database_trouble',
    hint: 'internal error of the server, as with a full disk: see its log',
  },
];

/**
 * Explains an error that a server reports about itself or the session (classes 08, 28, 3D, 53, 57, 58, XX and 25006),
 * independent of the statement: its message, which server, and what to do. Returns undefined for an error about the
 * statement.
 */
export function serverTrouble(error: AnyServerError, databaseUrl?: string): TaskqError | undefined {
  const trouble = TROUBLES.find(({ state }) => error.code.startsWith(state));
  if (trouble === undefined) return undefined;
  const where = databaseUrl === undefined ? 'the database' : `the database ${redactUrl(databaseUrl)}`;
  // The hint of our own functions describes a standby better.
  const hint = (trouble.code === 'read_only' && error.hint) || trouble.hint;
  return new TaskqError(trouble.code, `${where}: ${error.message}`, { hint, cause: error });
}

/** What to check if no connection could be made, by the reason. */
export function hintToConnect(why: string): string {
  return /SSL|TLS|CERT|VERIFY/i.test(why)
    ? 'check sslmode in the URL: verify-full checks the certificate, no-verify does not, and without it nothing is encrypted'
    : 'check that the server is running and that host and port are right';
}

/** Describes a database error on one line, with a hint where there is one. */
export function describeDatabaseError(error: unknown, databaseUrl?: string): string {
  const explained = (isAnyServerError(error) && serverTrouble(error, databaseUrl)) || error;
  const message = messageOf(explained);
  const hint = explained instanceof TaskqError && explained.hint !== undefined ? ` — ${explained.hint}` : '';
  return `${message}${hint}`.replaceAll(/\s*\n\s*/g, ' ');
}
