import { badOption } from '../../lib/bad-option.ts';
import { parseDuration } from '../../lib/duration.ts';
import type { TaskqError } from '../../lib/errors.ts';

/**
 * Read an instant: a duration back from now, a date or an instant as text, or a Date. Returns ISO 8601. Throws
 * TaskqError, which names the value `what`.
 */
export function instantOf(given: string | Date, what: string): string {
  if (typeof given === 'string' && !/^\d{4}-\d{2}-\d{2}/.test(given)) {
    return new Date(Date.now() - agoMs(given, what)).toISOString();
  }
  const ms = typeof given === 'string' ? Date.parse(given) : given.getTime();
  if (ms >= FIRST_MS) return new Date(ms).toISOString();
  throw refused(what, given);
}

/** PostgreSQL has no year 0. */
const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');

function agoMs(given: string, what: string): number {
  try {
    return parseDuration(given, what);
  } catch {
    throw refused(what, given);
  }
}

function refused(what: string, given: string | Date): TaskqError {
  const expected =
    'expected a time such as 2030-01-31 or 2030-01-31T09:00:00Z, or a duration back from now such as 2h';
  return badOption(`${what} ${JSON.stringify(given)}: ${expected}`);
}
