import { badOption } from '../../lib/bad-option.ts';
import { formatDuration, parseDuration } from '../../lib/duration.ts';
import type { TaskqError } from '../../lib/errors.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { shown } from '../../lib/shown.ts';

/** When a schedule fires, as written by its author (`text`, blanks and abbreviations normalised). */
export type Expression = CronExpression | IntervalExpression;

export interface CronExpression {
  readonly kind: 'cron';
  readonly text: string;
  /** Second, minute, hour, day of the month, month, day of the week. */
  readonly fields: string;
  /** The hour is a wildcard (`*`, or a step from it): a repeated hour has its ticks again. */
  readonly isHourly: boolean;
}

export interface IntervalExpression {
  readonly kind: 'every';
  readonly text: string;
  readonly everyMs: number;
}

/**
 * Parses cron of 5 or 6 fields (seconds first), `@daily` and the like, or `@every 90s`. Throws TaskqError `bad_option`
 * for anything else, for an interval below a second, and for a day that no month has.
 */
export function parseExpression(input: unknown, what = 'expression'): Expression {
  if (typeof input !== 'string') throw refused(what, input, EXPECTED);
  const text = input.trim().replaceAll(/\s+/g, ' ');
  if (/^@every\b/i.test(text)) return intervalOf(text, what, input);
  const isNamed = text.startsWith('@');
  const fields = isNamed ? namedFields(text.toLowerCase(), what, input) : text;
  const given = fields.split(' ');
  if (text.length > MAX_LENGTH) throw refused(what, input, `expected at most ${MAX_LENGTH} characters`);
  if (given.length !== 5 && given.length !== 6) throw refused(what, input, EXPECTED);
  const six = given.length === 5 ? ['0', ...given] : given;
  const values = six.map((field, place) => valuesOf(field, FIELDS[place]!, what, input));
  refuseMissingDay(values, six, what, input);
  return {
    kind: 'cron',
    text: isNamed ? text.toLowerCase() : text.toUpperCase(),
    fields: six.join(' ').toUpperCase(),
    isHourly: six[2]!.includes('*'),
  };
}

/** The limit of `schedules.expression`. */
const MAX_LENGTH = 200;

const EXPECTED = 'expected 5 or 6 cron fields such as "30 2 * * MON-FRI", @daily, or @every 90s';

const NAMED: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

function namedFields(name: string, what: string, input: unknown): string {
  if (Object.hasOwn(NAMED, name)) return NAMED[name]!;
  const names = [...Object.keys(NAMED), '@every'];
  throw refused(what, input, `expected ${names.join(', ')}${didYouMean(name.split(' ')[0]!, names)}`);
}

function intervalOf(text: string, what: string, input: unknown): IntervalExpression {
  const everyMs = parseDuration(text.slice('@every'.length).trim(), `${what} ${shown(input)}: interval`);
  if (everyMs < 1000) throw refused(what, input, 'expected an interval of at least 1s');
  // Without fractions, as SQL reads it.
  const interval = everyMs % 1000 === 0 ? formatDuration(everyMs) : `${everyMs}ms`;
  return { kind: 'every', text: `@every ${interval}`, everyMs };
}

interface Field {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  /** Names of values, from `least` on. */
  readonly names?: readonly string[];
}

const FIELDS: readonly Field[] = [
  { name: 'second', least: 0, most: 59 },
  { name: 'minute', least: 0, most: 59 },
  { name: 'hour', least: 0, most: 23 },
  { name: 'day of the month', least: 1, most: 31 },
  {
    name: 'month',
    least: 1,
    most: 12,
    names: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
  },
  // Sunday is 0 and 7.
  {
    name: 'day of the week',
    least: 0,
    most: 7,
    names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'],
  },
];

const ELEMENT = /^(?:(\*)|([A-Z]{3}|\d{1,2})(?:-([A-Z]{3}|\d{1,2}))?)(?:\/(\d{1,2}))?$/;

/** The values that a field has. */
function valuesOf(field: string, of: Field, what: string, input: unknown): readonly number[] {
  return field.split(',').flatMap((element) => {
    const bad = () => refused(what, input, `${of.name} ${shown(element)}: ${expectedOf(of)}`);
    const [, star, first, last, step] = ELEMENT.exec(element.toUpperCase()) ?? [];
    if (star === undefined && first === undefined) throw bad();
    // A step needs a range: `5/15` means different things to different programs.
    if (step !== undefined && star === undefined && last === undefined) throw bad();
    const from = star === undefined ? numberOf(first!, of) : of.least;
    const to = star === undefined ? (last === undefined ? from : lastOf(last, of)) : of.most;
    const by = step === undefined ? 1 : Number(step);
    if (from === undefined || to === undefined || from > to || by < 1 || by > of.most) throw bad();
    return Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, nth) => from + nth * by);
  });
}

/** The last value of a range: Sunday, which is 0 and 7, ends a week there. */
function lastOf(value: string, of: Field): number | undefined {
  return value === 'SUN' && of.names?.[0] === 'SUN' ? of.most : numberOf(value, of);
}

function numberOf(value: string, { least, most, names }: Field): number | undefined {
  const named = names?.indexOf(value) ?? -1;
  const number = named >= 0 ? least + named : /^\d+$/.test(value) ? Number(value) : Number.NaN;
  return number >= least && number <= most ? number : undefined;
}

function expectedOf({ least, most, names }: Field): string {
  const range = `${least} to ${most}${names === undefined ? '' : ` or ${names[0]} to ${names.at(-1)}`}`;
  return `expected ${range}, ranges (a-b), steps (*/n, a-b/n) and lists of them`;
}

const DAYS_OF_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** A day of the week would give it other days: with both given, either is enough. */
function refuseMissingDay(
  values: readonly (readonly number[])[],
  six: readonly string[],
  what: string,
  input: unknown,
): void {
  const [days, months] = [values[3]!, values[4]!];
  if (six[5] !== '*' || months.some((month) => Math.min(...days) <= DAYS_OF_MONTHS[month - 1]!)) return;
  throw refused(what, input, 'never fires: no such month has that day');
}

function refused(what: string, input: unknown, expected: string): TaskqError {
  return badOption(`${what} ${shown(input)}: ${expected}`);
}
