import type { Expression } from './expression.ts';
import type { Missed } from './missed-policy.ts';
import { nextTick } from './next-tick.ts';

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
