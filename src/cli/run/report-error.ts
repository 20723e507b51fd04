import { WaitDeadlineError } from '../../domain/errors.ts';
import { TaskqError } from '../../lib/errors.ts';
import { redactUrl } from '../../lib/redact-url.ts';
import { messageOf } from '../../lib/thrown.ts';
import type { Output } from './output.ts';

/** Print why a command failed. Returns its exit code. */
export function reportError(error: unknown, output: Output): number {
  if (error instanceof TaskqError) {
    output.complain(output.format === 'json' ? asJson(error) : asLine(error, output));
    return error.exitCode;
  }
  // A bug. Print only the stack: other properties of an error may hold a connection string.
  const stack = hidePasswords(error instanceof Error ? (error.stack ?? error.message) : messageOf(error));
  output.complain(
    output.format === 'json'
      ? bugAsJson(error, stack)
      : `taskq: this is a bug in taskq; please report it: ${stack}`,
  );
  return 1;
}

function asLine(error: TaskqError, { paint }: Output): string {
  const hint = error.hint === undefined ? '' : ` — ${error.hint}`;
  return paint.red(`taskq: ${oneLine(error.message)}`) + oneLine(hint);
}

/** Messages of the server and of other packages may have several lines. */
function oneLine(text: string): string {
  return hidePasswords(text.replaceAll(/\s*\n\s*/g, ' '));
}

function asJson(error: TaskqError): string {
  const { code, message, hint } = error;
  return JSON.stringify({
    error: {
      ...{ code, message: oneLine(message), hint: hint === undefined ? null : oneLine(hint) },
      // What continues, so that a script can query it later.
      ...(error instanceof WaitDeadlineError && { id: error.id }),
    },
  });
}

function bugAsJson(error: unknown, stack: string): string {
  const message = messageOf(error);
  return JSON.stringify({ error: { code: 'bug', message: hidePasswords(message), hint: null, stack } });
}

/** A database URL, or the password of a key=value connection string. */
const SECRETIVE = /postgres(?:ql)?:\/\/\S+|\b\w*(?:password|passwd|pwd)\s*=\s*(?:'(?:\\.|[^'\\])*'|\S+)/gi;

/** The last line of defense: redact whatever an error quotes. */
function hidePasswords(text: string): string {
  return text.replaceAll(SECRETIVE, (quoted) => redactUrl(quoted));
}
