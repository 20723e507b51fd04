import { EXIT, TaskqError } from '../../lib/errors.ts';

/** The error of an option whose value is refused (exit 2). */
export function badOption(message: string, hint?: string): TaskqError {
  return new TaskqError('bad_option', message, { exitCode: EXIT.usage, ...(hint !== undefined && { hint }) });
}
