import { badOption } from '../../lib/bad-option.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { shown } from '../../lib/shown.ts';

/**
 * Which ticks fire late, when workers return after a time without any: the last one, if it is at most a minute late
 * (`skip`), the last one (`latest`), or the last n (`all:n`).
 */
export type Missed = 'skip' | 'latest' | `all:${number}`;

/** Parses `skip`, `latest`, `all` (100), or `all:n`. Throws TaskqError `bad_option`. */
export function parseMissed(input: unknown, what = 'missed'): Missed {
  if (input === 'skip' || input === 'latest') return input;
  if (input === 'all') return `all:${MOST_LATE}`;
  const all = typeof input === 'string' ? /^all:([1-9]\d{0,3})$/.exec(input) : null;
  if (all !== null) return `all:${Number(all[1])}`;
  const meant =
    typeof input === 'string' && !input.includes(':') ? didYouMean(input, ['skip', 'latest', 'all']) : '';
  throw badOption(
    `${what} ${shown(input)}: expected skip, latest, all, or all:n with n from 1 to 9999${meant}`,
  );
}

/** How many late ticks `all` fires. */
const MOST_LATE = 100;
