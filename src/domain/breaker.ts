import { badOption } from '../lib/bad-option.ts';
import { toPositiveMs } from '../lib/duration.ts';
import { didYouMean } from '../lib/nearest.ts';
import { shown } from '../lib/shown.ts';

/** When to stop starting the tasks of a type that keep failing. Durations are text or milliseconds. */
export interface Breaker {
  /** How many failures open it, 1 to 1000, … */
  readonly failures: number;
  /** … within this time. */
  readonly within: string | number;
  /** How long after the last failure a task may try; default 30s; none: not before `taskq types resume`. */
  readonly probeAfter?: string | number;
}

/** A breaker as stored in the database (jsonb). */
export interface StoredBreaker {
  readonly failures: number;
  readonly within_ms: number;
  readonly probe_after_ms: number | 'none';
}

/**
 * Checks a breaker, an object or text such as `5/1m`, and fills in its default. Throws TaskqError `bad_option` or
 * `bad_duration`.
 */
export function normaliseBreaker(input: unknown, what = 'breaker'): StoredBreaker {
  if (typeof input === 'string') {
    const [, failures, within] = /^(\d+)\s*\/\s*(\S+)$/.exec(input.trim()) ?? [];
    if (within === undefined)
      throw badOption(`${what} ${shown(input)}: expected failures/duration such as 5/1m`);
    return normaliseBreaker({ failures: Number(failures), within }, what);
  }
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw badOption(`${what} ${shown(input)}: expected ${EXAMPLE}`);
  const { failures, within, probeAfter, ...others } = input as Partial<Record<keyof Breaker, unknown>>;
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined) throw badOption(`${what}: unknown key "${unknown}"${didYouMean(unknown, KEYS)}`);
  if (!Number.isInteger(failures) || Number(failures) < 1 || Number(failures) > MOST_FAILURES)
    throw badOption(
      `${what} failures ${shown(failures)}: expected a whole number from 1 to ${MOST_FAILURES}`,
    );
  return {
    failures: Number(failures),
    within_ms: toPositiveMs(within, `${what} within`),
    probe_after_ms: probeAfterMs(probeAfter ?? '30s', `${what} probeAfter`),
  };
}

/** Checks how long after the last failure a task may try. Throws TaskqError. */
export function probeAfterMs(input: unknown, what: string): number | 'none' {
  return input === 'none' ? 'none' : toPositiveMs(input, what);
}

const MOST_FAILURES = 1000;
const EXAMPLE = 'text such as 5/1m, or an object such as { failures: 5, within: "1m", probeAfter: "30s" }';
const KEYS: readonly (keyof Breaker)[] = ['failures', 'within', 'probeAfter'];
