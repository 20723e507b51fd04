import { badOption } from '../lib/bad-option.ts';
import { shown } from '../lib/shown.ts';

/** Parses whether the claims or ends of a queue are recorded: a boolean, or on or off. Throws TaskqError `bad_option`. */
export function parseIsRecorded(input: unknown, what: string): boolean {
  if (input === true || input === 'on') return true;
  if (input === false || input === 'off') return false;
  throw badOption(
    `${what} ${shown(input)}: expected ${what.startsWith('-') ? 'on or off' : 'true or false'}`,
  );
}
