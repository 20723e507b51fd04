import { TaskqError } from './errors.ts';

/** The error for a refused option or its value. */
export function badOption(problem: string, hint?: string): TaskqError {
  return new TaskqError('bad_option', problem, { ...(hint !== undefined && { hint }) });
}
