import { badOption } from '../lib/bad-option.ts';
import { shown } from '../lib/shown.ts';

/** What the failure of an attempt does to its task. */
export type OnFailure = 'retry' | 'complete';

/** Parses what the failure of an attempt does. Throws TaskqError `bad_option`. */
export function parseOnFailure(input: unknown, what = 'onFailure'): OnFailure {
  if (input === 'retry' || input === 'complete') return input;
  throw badOption(`${what} ${shown(input)}: expected retry or complete`);
}
