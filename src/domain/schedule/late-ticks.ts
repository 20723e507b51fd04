import type { Expression } from './expression.ts';
import type { Missed } from './missed-policy.ts';
import { nextTick } from './next-tick.ts';

/** A tick that no worker fired at once may fire up to this late: databases restart, and workers are replaced. */
const LATE_MS = 60_000;

/** Looking at this many ticks takes a tenth of a second at most; the next look continues there. */
const MOST_PASSED = 2000;

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
  /** How many ticks get no task. */
  readonly passed: number;
}

/** Decides which of the ticks that have come by `now` fire. */
export function firingOf({ expression, tz, missed, tick }: DueSchedule, now: number): Firing {
  const most = missed.startsWith('all:') ? Number(missed.slice('all:'.length)) : 1;
  const late: number[] = [];
  let passed = 0;
  let next: number | undefined = tick;
  while (next !== undefined && next <= now) {
    late.push(next);
    next = nextTick(expression, tz, next, tick);
    if (late.length < most || next === undefined || next > now) continue;
    late.shift();
    passed += 1;
    // The kept ticks may be among the last n of all: the next look begins with them.
    if (passed === MOST_PASSED) return { ticks: [], next: late[0] ?? next, passed };
  }
  const isSkipped = missed === 'skip' && late.length > 0 && now - late[0]! > LATE_MS;
  return isSkipped ? { ticks: [], next, passed: passed + late.length } : { ticks: late, next, passed };
}
