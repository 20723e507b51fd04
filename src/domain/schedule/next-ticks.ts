import type { Expression } from './expression.ts';
import { nextTick } from './next-tick.ts';
import { localAt } from './zone.ts';

export interface NextTicksOptions {
  /** Ticks after this instant. */
  readonly from: number;
  readonly count: number;
  /** Any tick of an `@every`, from which the others are counted; default: `from`. */
  readonly anchor?: number | undefined;
}

/** Returns the next ticks of an expression, the earliest first: fewer than `count` if there are no more. */
export function nextTicks(
  expression: Expression,
  zone: string,
  { from, count, anchor = from }: NextTicksOptions,
): number[] {
  const ticks: number[] = [];
  for (let at: number | undefined = from; ticks.length < count; ) {
    at = nextTick(expression, zone, at, anchor);
    if (at === undefined) break;
    ticks.push(at);
  }
  return ticks;
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** Writes an instant as clocks of a zone show it: `Sun 2030-03-31 03:00:00 +02:00`. */
export function localText(zone: string, at: number): string {
  const local = localAt(zone, at);
  const offsetMs = local - at;
  const date = new Date(local);
  const minutes = Math.round(Math.abs(offsetMs) / 60_000);
  const offset = [Math.floor(minutes / 60), minutes % 60]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
  const time = date.toISOString().slice(0, 19).replace('T', ' ');
  return `${WEEKDAYS[date.getUTCDay()]} ${time} ${offsetMs < 0 ? '-' : '+'}${offset}`;
}
