import { badOption } from '../lib/bad-option.ts';

/** Which attempts keep the last lines of their log: those that did not complete, all, or none. */
export type KeepLog = 'failed' | 'always' | 'none';

const ALL: readonly unknown[] = ['failed', 'always', 'none'];

/** Throws TaskqError `bad_option`. */
export function parseKeepLog(value: unknown, what = 'keepLog'): KeepLog {
  if (ALL.includes(value)) return value as KeepLog;
  throw badOption(`${what} ${JSON.stringify(value)}: expected failed, always or none`);
}
