import { EXIT, TaskqError } from '../lib/errors.ts';
import { redactUrl } from '../lib/redact-url.ts';

/**
 * Say what an error of the server or of the way to it means for an operator. An error that only a bug of ours can
 * cause is returned as it is.
 */
export function explainDatabaseError(error: unknown, databaseUrl: string): unknown {
  if (error instanceof TaskqError || !(error instanceof Error)) return error;
  const { code } = error as Error & { code?: unknown };
  if (typeof code !== 'string') return isLost(error) ? lost(error, databaseUrl) : error;
  if (/^E[A-Z_]+$/.test(code) && 'syscall' in error) return unreachable(error, code, databaseUrl);
  if (!/^[0-9A-Z]{5}$/.test(code) || !('severity' in error)) return error;
  return meaningOf(error, code, databaseUrl);
}

function meaningOf(error: Error, state: string, databaseUrl: string): unknown {
  const where = redactUrl(databaseUrl);
  const refused = (message: string, hint?: string, exitCode: number = EXIT.failed) =>
    new TaskqError('database_refused', message, {
      exitCode,
      cause: error,
      ...(hint !== undefined && { hint }),
    });
  switch (state) {
    case '28P01':
    case '28000':
      return refused(`the database ${where} refuses us: ${error.message}`, 'check user and password');
    case '3D000':
      return refused(
        `the server has no such database: ${error.message} (${where})`,
        'create it, or correct the URL',
      );
    case '42501':
      return refused(`${error.message} (${where})`, 'the user of the URL lacks a right');
    case '22023':
      return new TaskqError('refused', error.message, { exitCode: EXIT.usage, cause: error });
    case '25006':
      return refused(`the database ${where} is read-only: ${error.message}`, 'is it a replica?');
    case '55P03':
      return refused(`another transaction holds what this needs: ${error.message}`, 'try again');
    default:
      // Conflicts, resources, cancelled by somebody, shutting down: nothing of it is our doing.
      return /^(08|40|53|57|58)/.test(state) ? refused(`${where}: ${error.message}`, 'try again') : error;
  }
}

function unreachable(error: Error, code: string, databaseUrl: string): TaskqError {
  return new TaskqError('connection_failed', `cannot reach the database ${redactUrl(databaseUrl)}: ${code}`, {
    hint: 'is the server running, and are host and port right?',
    cause: error,
  });
}

function isLost(error: Error): boolean {
  return /^Connection terminated|^timeout expired|timeout exceeded/.test(error.message);
}

function lost(error: Error, databaseUrl: string): TaskqError {
  const message = `the connection to the database ${redactUrl(databaseUrl)} broke: ${error.message}`;
  return new TaskqError('connection_failed', message, { cause: error });
}
