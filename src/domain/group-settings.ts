import { badOption } from '../lib/bad-option.ts';
import { didYouMean } from '../lib/nearest.ts';
import { shown } from '../lib/shown.ts';

/** Whether a task that waits for a retry keeps its slot. */
export type GroupOrder = (typeof GROUP_ORDERS)[number];
/** Whether a group stops at a dead letter. */
export type GroupOnDead = (typeof GROUP_ON_DEAD)[number];
/** Whether tasks without a group join that of their type. */
export type GroupBy = (typeof GROUP_BY)[number];

const GROUP_ORDERS = ['strict', 'relaxed'] as const;
const GROUP_ON_DEAD = ['go-on', 'hold'] as const;
const GROUP_BY = ['type', 'none'] as const;

/** Parses a whole number of tasks from 1, a number or text. Throws TaskqError `bad_option`. */
export function parseGroupLimit(input: unknown, what = 'groupLimit'): number {
  const limit = typeof input === 'string' && /^\d+$/.test(input) ? Number(input) : input;
  if (Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= MOST) return limit as number;
  throw badOption(`${what} ${shown(input)}: expected a whole number from 1 to ${MOST}`);
}

/** PostgreSQL's greatest integer. */
const MOST = 2_147_483_647;

/** Parses whether a task that waits for a retry keeps its slot. Throws TaskqError `bad_option`. */
export function parseGroupOrder(input: unknown, what = 'groupOrder'): GroupOrder {
  return oneOf(GROUP_ORDERS, input, what);
}

/** Parses whether a group stops at a dead letter. Throws TaskqError `bad_option`. */
export function parseGroupOnDead(input: unknown, what = 'groupOnDead'): GroupOnDead {
  return oneOf(GROUP_ON_DEAD, input, what);
}

/** Parses whether tasks are grouped by type. Throws TaskqError `bad_option`. */
export function parseGroupBy(input: unknown, what = 'groupBy'): GroupBy {
  return oneOf(GROUP_BY, input, what);
}

function oneOf<Value extends string>(values: readonly Value[], input: unknown, what: string): Value {
  const value = values.find((known) => known === input);
  if (value !== undefined) return value;
  const meant = typeof input === 'string' ? didYouMean(input, values) : '';
  throw badOption(`${what} ${shown(input)}: expected ${values.join(' or ')}${meant}`);
}
