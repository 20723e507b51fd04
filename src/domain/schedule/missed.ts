import { badOption } from '../../lib/bad-option.ts';
import { shown } from '../../lib/shown.ts';
import type { Expression } from './expression.ts';
import { nextTick } from './next-tick.ts';

/**
 * Which ticks fire late, once workers are back after none could fire them: none (`skip`), the last one (`latest`), or
 * the last n (`all:n`).
 */
export type Missed = 'skip' | 'latest' | `all:${number}`;

/** Parses `skip`, `latest`, `all` (100), or `all:n`. Throws TaskqError `bad_option`. */
export function parseMissed(input: unknown, what = 'missed'): Missed {
  if (input === 'skip' || input === 'latest') return input;
  if (input === 'all') return `all:${MOST_LATE}`;
  const all = typeof input === 'string' ? /^all:([1-9]\d{0,3})$/.exec(input) : null;
  if (all !== null) return `all:${Number(all[1])}`;
  throw badOption(`${what} ${shown(input)}: expected skip, latest, all, or all:n with n from 1 to 9999`);
}

/** How many late ticks `all` fires. */
const MOST_LATE = 100;

/** A tick fires although no worker fired it at once, but only this late: the database restarts, workers change places. */
const LATE_MS = 60_000;

/** Looking at this many ticks takes a tenth of a second at most; the next look continues there. */
const MOST_WALKED = 2000;

/** A schedule whose tick has come. */
export interface DueSchedule {
  readonly expression: Expression;
  readonly tz: string;
  readonly missed: Missed;
  /** The tick that fires next. */
  readonly tick: number;
}

export interface Firing {
  /** The ticks that get a task, in order. */
  readonly ticks: readonly number[];
  /** The tick that follows; undefined: there is none. */
  readonly next: number | undefined;
  /** How many ticks get none. */
  readonly passed: number;
}

/** Decides which of the ticks that have come by `now` fire. */
export function firingOf({ expression, tz, missed, tick }: DueSchedule, now: number): Firing {
  const most = missed.startsWith('all:') ? Number(missed.slice('all:'.length)) : 1;
  const late: number[] = [];
  let walked = 0;
  let next: number | undefined = tick;
  while (next !== undefined && next <= now && walked < MOST_WALKED) {
    late.push(next);
    walked += 1;
    if (late.length > most) late.shift();
    next = nextTick(expression, tz, next, tick);
  }
  const isCut = next !== undefined && next <= now;
  const isSkipped = missed === 'skip' && late.length > 0 && now - late[0]! > LATE_MS;
  const ticks = isCut || isSkipped ? [] : late;
  return { ticks, next, passed: walked - ticks.length };
}
