import { badOption } from '../../lib/bad-option.ts';
import { TaskqError } from '../../lib/errors.ts';
import { redactUrl } from '../../lib/redact-url.ts';
import {
  type AnyServerError,
  hintToConnect,
  isAnyServerError,
  serverTrouble,
} from '../../lib/server-trouble.ts';
import { isBurstAlone, refusalOf } from '../../queue/protocol/refusal.ts';
import { notGranted } from '../../queue/schema/not-granted.ts';

/**
 * Explain a server or connection error to an operator. Returns an error that only a bug of ours can cause unchanged.
 */
export function explainDatabaseError(error: unknown, databaseUrl: string): unknown {
  if (error instanceof TaskqError || !(error instanceof Error)) return error;
  const { code = '', syscall = '' } = error as NodeJS.ErrnoException;
  if (isAnyServerError(error)) return meaningOf(error, databaseUrl);
  const isWay =
    ['connect', 'getaddrinfo'].includes(syscall) ||
    'errors' in error ||
    /^timeout|SSL connection/.test(error.message);
  if (isWay) return unreachable(error, code || error.message, databaseUrl);
  const isLost =
    ['ECONNRESET', 'EPIPE', 'ETIMEDOUT'].includes(code) || /^Connection terminated/.test(error.message);
  return isLost ? lost(error, databaseUrl) : error;
}

function meaningOf(error: AnyServerError & { constraint?: string }, databaseUrl: string): unknown {
  const state = error.code;
  const where = redactUrl(databaseUrl);
  const refused = (message: string, hint: string) =>
    new TaskqError('database_refused', message, { hint, cause: error });
  if (isBurstAlone(error)) return badOption(error.message.replace(/^\w+: (group_)?burst/, burstFlag));
  switch (state) {
    case '42501':
      return (
        notGranted(error, databaseUrl) ??
        refused(`${error.message} (${where})`, 'taskq grants prints what a role needs')
      );
    case '23514':
      // Without a constraint's name: no partition of history takes the row, not even the default one.
      return error.constraint === undefined
        ? refused(
            `${error.message} (${where})`,
            'a partition was dropped by hand: select taskq.ensure_partitions()',
          )
        : error;
    case '55P03':
      return refused(`another transaction holds a lock this command needs: ${error.message}`, 'try again');
    default:
      // A conflict with other transactions: a new attempt may succeed.
      if (state.startsWith('40')) return refused(`${where}: ${error.message}`, 'try again');
      return serverTrouble(error, databaseUrl) ?? refusalOf(error, '');
  }
}

function burstFlag(_name: string, ofGroup: string | undefined): string {
  return ofGroup === undefined ? '--burst' : '--group-burst';
}

function unreachable(error: Error, code: string, databaseUrl: string): TaskqError {
  return new TaskqError('connection_failed', `cannot reach the database ${redactUrl(databaseUrl)}: ${code}`, {
    hint: hintToConnect(code),
    cause: error,
  });
}

function lost(error: Error, databaseUrl: string): TaskqError {
  const message = `lost the connection to the database ${redactUrl(databaseUrl)}: ${error.message}`;
  return new TaskqError('connection_failed', message, { cause: error });
}
