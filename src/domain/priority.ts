import { TaskqError } from '../lib/errors.ts';
import { didYouMean } from '../lib/nearest.ts';
import { shown } from '../lib/shown.ts';

export const PRIORITY_NAMES = { critical: 0, high: 1, medium: 2, low: 3 } as const;

/**
 * Parses a priority: 0 (most urgent) to 9, as a number or text, or one of its names. Throws TaskqError `bad_priority`.
 */
export function parsePriority(input: unknown, what = 'priority'): number {
  if (typeof input === 'string' && Object.hasOwn(PRIORITY_NAMES, input)) {
    return PRIORITY_NAMES[input as keyof typeof PRIORITY_NAMES];
  }
  if ((typeof input === 'string' || typeof input === 'number') && /^[0-9]$/.test(String(input)))
    return Number(input);
  const names = Object.keys(PRIORITY_NAMES);
  const meant = typeof input === 'string' ? didYouMean(input, names) : '';
  const expected = `expected 0 to 9 (0 is the most urgent, 9 the least) or ${names.join(', ')}${meant}`;
  throw new TaskqError('bad_priority', `${what} ${shown(input)}: ${expected}`);
}
