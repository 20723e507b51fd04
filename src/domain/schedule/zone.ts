import { badOption } from '../../lib/bad-option.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { shown } from '../../lib/shown.ts';

/**
 * Returns the name of a time zone if this Node knows it: `Europe/Berlin`, `UTC`. Throws TaskqError `bad_option`, also
 * for an offset, whose sign means the opposite to PostgreSQL.
 */
export function checkedZone(zone: unknown, what = 'tz'): string {
  if (typeof zone === 'string' && /^[A-Za-z]/.test(zone) && isKnown(zone)) return zone;
  const meant = typeof zone === 'string' ? didYouMean(zone, Intl.supportedValuesOf('timeZone')) : '';
  throw badOption(
    `${what} ${shown(zone)}: unknown time zone; expected a name such as Europe/Berlin or UTC${meant}`,
  );
}

function isKnown(zone: string): boolean {
  try {
    clockOf(zone);
    return true;
  } catch {
    return false;
  }
}

/**
 * The time that clocks of a zone show, as the epoch milliseconds at which clocks of UTC show it: arithmetic on it knows
 * no changes of the offset.
 */
export type LocalMs = number;

/** The offset of a zone's clocks from UTC at an instant, in milliseconds. */
function offsetAt(zone: string, at: number): number {
  // Clocks show whole seconds, and so do all offsets.
  const second = Math.floor(at / 1000) * 1000;
  const shownBy = Object.fromEntries(
    clockOf(zone)
      .formatToParts(second)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year, month, day, hour, minute, second: seconds } = shownBy;
  return Date.UTC(year!, month! - 1, day!, hour!, minute!, seconds!) - second;
}

/** What clocks of the zone show at an instant. */
export function localAt(zone: string, at: number): LocalMs {
  return at + offsetAt(zone, at);
}

/** The instants at which clocks of a zone show a local time. */
export type Showing =
  | { readonly kind: 'once'; readonly at: number }
  /** Clocks skip it: `at` is the first instant after the gap. */
  | { readonly kind: 'skipped'; readonly at: number }
  /** Clocks are set back: they show it twice, and all times before `until` again. */
  | { readonly kind: 'twice'; readonly at: number; readonly again: number; readonly until: LocalMs };

/** More than any change of an offset, and less than the time between two. */
const AROUND_MS = 86_400_000;

/** Find when clocks of a zone show a local time. */
export function showing(zone: string, local: LocalMs): Showing {
  const [earlier, later] = [local - AROUND_MS, local + AROUND_MS];
  const [before, after] = [offsetAt(zone, earlier), offsetAt(zone, later)];
  if (before === after) return { kind: 'once', at: local - before };
  const change = changeWithin(zone, earlier, later);
  const at = local - before;
  const again = local - after;
  if (at < change && again >= change) return { kind: 'twice', at, again, until: change + before };
  if (at < change) return { kind: 'once', at };
  return again >= change ? { kind: 'once', at: again } : { kind: 'skipped', at: change };
}

/** The instant after `from`, within a day, at which clocks of a zone are set back; undefined: there is none. */
export function setBackAfter(zone: string, from: number): number | undefined {
  const to = from + AROUND_MS;
  return offsetAt(zone, to) < offsetAt(zone, from) ? changeWithin(zone, from, to) : undefined;
}

/** The first instant in (from, to] that has the offset of `to`. */
function changeWithin(zone: string, from: number, to: number): number {
  const after = offsetAt(zone, to);
  let [before, since] = [Math.floor(from / 1000), Math.ceil(to / 1000)];
  while (since - before > 1) {
    const middle = Math.floor((before + since) / 2);
    if (offsetAt(zone, middle * 1000) === after) since = middle;
    else before = middle;
  }
  return since * 1000;
}

/** Building one takes 20 times as long as asking it. */
const CLOCKS = new Map<string, Intl.DateTimeFormat>();

function clockOf(timeZone: string): Intl.DateTimeFormat {
  let clock = CLOCKS.get(timeZone);
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone, hourCycle: 'h23', calendar: 'gregory', numberingSystem: 'latn' },
      ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
    });
    CLOCKS.set(timeZone, clock);
  }
  return clock;
}
