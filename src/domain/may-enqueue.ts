import { badOption } from '../lib/bad-option.ts';
import { shown } from '../lib/shown.ts';
import { checkedName } from './names.ts';

/**
 * Parses the queues into which the handlers of a queue may enqueue: names in an array, or in text with commas; `none`
 * means no queue. Throws TaskqError.
 */
export function parseMayEnqueue(input: unknown, what = 'mayEnqueue'): readonly string[] {
  if (input === 'none') return [];
  const names = typeof input === 'string' ? input.split(',').filter((name) => name !== '') : input;
  if (!Array.isArray(names) || (typeof input === 'string' && names.length === 0))
    throw badOption(`${what} ${shown(input)}: expected names of queues, or none`);
  if (names.length > MOST) throw badOption(`${what}: expected at most ${MOST} queues`);
  return [...new Set(names.map((name) => checkedName('queue', name, what)))];
}

const MOST = 1000;
