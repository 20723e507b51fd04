import { badOption } from '../lib/bad-option.ts';
import { formatDuration, toDurationMs } from '../lib/duration.ts';
import { TaskqError } from '../lib/errors.ts';
import { shown } from '../lib/shown.ts';

/** Parses the rate at which tasks of a queue may start, such as `100/1m`. Throws TaskqError `bad_option`. */
export function parseRate(input: unknown, what = 'rate'): string {
  const [, starts, period] =
    (typeof input === 'string' && /^([1-9]\d{0,6})\s*\/\s*(\S+)$/.exec(input.trim())) || [];
  const ms = period === undefined ? 0 : durationOf(period);
  if (Number(starts) <= MOST_STARTS && ms >= 1 && ms <= LONGEST_MS) return `${starts}/${periodText(ms)}`;
  throw badOption(
    `${what} ${shown(input)}: expected n/duration such as 100/1m: n 1 to ${MOST_STARTS}, duration 1ms to 366d`,
  );
}

/** Parses how many tasks may start at once after a pause. Throws TaskqError `bad_option`. */
export function parseBurst(input: unknown, what = 'burst'): number {
  const burst = typeof input === 'string' && /^\d{1,9}$/.test(input) ? Number(input) : input;
  if (Number.isInteger(burst) && Number(burst) >= 1 && Number(burst) <= MOST_BURST) return Number(burst);
  throw badOption(`${what} ${shown(input)}: expected a whole number from 1 to ${MOST_BURST}`);
}

const MOST_STARTS = 1_000_000;
const MOST_BURST = 100_000;
const LONGEST_MS = 31_622_400_000;

/** As the database reads it: without fractions. */
function periodText(ms: number): string {
  return ms % 1000 === 0 ? formatDuration(ms) : `${ms}ms`;
}

/** 0: not a duration. */
function durationOf(period: string): number {
  try {
    return toDurationMs(period, 'rate');
  } catch (error) {
    if (error instanceof TaskqError) return 0;
    throw error;
  }
}
