import { parseDuration } from '../lib/duration.ts';
import { EXIT, TaskqError } from '../lib/errors.ts';

/**
 * Read since when: a duration back from now, a date or an instant as text, or a Date. Returns ISO 8601. Throws
 * TaskqError, which calls it `what`.
 */
export function sinceOf(since: string | Date, what = 'since'): string {
  if (typeof since === 'string' && !/^\d{4}-\d{2}-\d{2}/.test(since)) {
    return new Date(Date.now() - parseDuration(since, what)).toISOString();
  }
  const ms = typeof since === 'string' ? Date.parse(since) : since.getTime();
  if (!Number.isNaN(ms)) return new Date(ms).toISOString();
  throw new TaskqError(
    'bad_option',
    `${what} ${JSON.stringify(since)}: expected a date such as 2030-01-31 or 2030-01-31T09:00:00Z`,
    { exitCode: EXIT.usage },
  );
}
