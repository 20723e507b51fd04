import { badOption } from '../lib/bad-option.ts';
import { shown } from '../lib/shown.ts';

/** Parses whether the claims of a queue are recorded: a boolean, or on or off. Throws TaskqError `bad_option`. */
export function parseRecordLeases(input: unknown, what = 'recordLeases'): boolean {
  if (input === true || input === 'on') return true;
  if (input === false || input === 'off') return false;
  throw badOption(
    `${what} ${shown(input)}: expected ${what.startsWith('-') ? 'on or off' : 'true or false'}`,
  );
}
