import { Cron } from 'croner';
import type { CronExpression, Expression } from './expression.ts';
import { type LocalMs, localAt, setBackAfter, showing } from './zone.ts';

/**
 * Returns the first tick of an expression after an instant; undefined if there is none before the year 10000. `anchor`
 * is any tick of an `@every`, from which the others are counted.
 *
 * A local time that clocks skip has its tick once, at the first instant after the gap. One that they show twice has it
 * once, at the first time; where the hour is a wildcard, each time.
 */
export function nextTick(
  expression: Expression,
  zone: string,
  after: number,
  anchor: number = after,
): number | undefined {
  if (expression.kind === 'cron') return nextOfCron(expression, zone, after);
  const { everyMs } = expression;
  return anchor + (Math.floor((after - anchor) / everyMs) + 1) * everyMs;
}

function nextOfCron(expression: CronExpression, zone: string, after: number): number | undefined {
  const following = followingOf(expression.fields);
  const first = firstAfter(expression, following, zone, after);
  if (!expression.isHourly) return first;
  const setBack = setBackAfter(zone, after);
  if (setBack === undefined) return first;
  // What clocks show again may come before what they have not shown yet.
  const repeated = firstAfter(expression, following, zone, setBack - 1, localAt(zone, setBack) - 1);
  return earlier(first, repeated);
}

/** The first tick after an instant among the local times that follow `local`. */
function firstAfter(
  { isHourly }: CronExpression,
  following: Following,
  zone: string,
  after: number,
  local: LocalMs = localAt(zone, after),
): number | undefined {
  for (let next = following(local); next !== undefined; ) {
    const shown = showing(zone, next);
    if (shown.at > after) return shown.at;
    if (shown.kind === 'twice' && isHourly && shown.again > after) return shown.again;
    next = following(shown.kind === 'twice' && !isHourly ? shown.until - 1 : next);
  }
  return undefined;
}

/** The next local time that matches, after another one. */
type Following = (after: LocalMs) => LocalMs | undefined;

function followingOf(fields: string): Following {
  let cron = PATTERNS.get(fields);
  if (cron === undefined) {
    // In UTC: what the offset of a zone does to a tick is decided here.
    cron = new Cron(fields, { mode: '6-part', utcOffset: 0, paused: true });
    if (PATTERNS.size >= MOST_PATTERNS) PATTERNS.clear();
    PATTERNS.set(fields, cron);
  }
  const pattern = cron;
  return (after) => pattern.nextRun(new Date(after))?.getTime();
}

/** A worker evaluates the same expressions again and again. */
const PATTERNS = new Map<string, Cron>();
const MOST_PATTERNS = 1000;

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}
