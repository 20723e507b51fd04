import { TaskqError } from '../../lib/errors.ts';

/** The error for a refused option value (exit 2). */
export function badOption(message: string, hint?: string): TaskqError {
  return new TaskqError('bad_option', message, { ...(hint !== undefined && { hint }) });
}
