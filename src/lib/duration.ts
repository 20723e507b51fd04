import { badOption } from './bad-option.ts';
import { TaskqError } from './errors.ts';
import { shown } from './shown.ts';

/** The longest duration accepted anywhere, in milliseconds: 100 years of 365.25 days. */
export const MAX_DURATION_MS = 3_155_760_000_000;

/**
 * Parses a duration such as `500ms`, `30s`, `1h30m`, `7d` or ISO 8601 (`PT10M`, `P7D`, `P2W`) into whole milliseconds.
 * Refuses ISO years and months, which have no fixed length, and a number without a unit. Throws TaskqError
 * `bad_duration`, which calls the value `what`.
 */
export function parseDuration(text: string, what = 'duration'): number {
  const readBefore = READ_BEFORE.get(text);
  if (readBefore !== undefined) return readBefore;
  const read = humanMs(text) ?? isoMs(text);
  if (read === null) throw refused(what, text, EXPECTED);
  const ms = withinBounds(what, text, read);
  if (READ_BEFORE.size >= 100) READ_BEFORE.clear();
  READ_BEFORE.set(text, ms);
  return ms;
}

/**
 * Converts a duration, text or a number of milliseconds, to whole milliseconds, rounded. Throws TaskqError
 * `bad_duration`, also for a value of another type.
 */
export function toDurationMs(input: unknown, what = 'duration'): number {
  if (typeof input === 'string') return parseDuration(input, what);
  if (typeof input !== 'number' || !Number.isFinite(input)) throw refused(what, input, EXPECTED);
  return withinBounds(what, input, input);
}

/** Converts a duration above 0 as `toDurationMs` does. Throws TaskqError, `bad_option` for 0. */
export function toPositiveMs(input: unknown, what = 'duration'): number {
  const ms = toDurationMs(input, what);
  if (ms > 0) return ms;
  throw badOption(`${what} ${shown(input)}: expected more than 0`);
}

/** Formats milliseconds in the shortest form that `parseDuration` reads back: `0s`, `250ms`, `1.5s`, `1h30m`, `7d`. */
export function formatDuration(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole > 0 && whole < SECOND) return `${whole}ms`;
  const days = Math.floor(whole / DAY);
  const hours = Math.floor((whole % DAY) / HOUR);
  const minutes = Math.floor((whole % HOUR) / MINUTE);
  const seconds = (whole % MINUTE) / SECOND;
  const parts = [part(days, 'd'), part(hours, 'h'), part(minutes, 'm'), part(seconds, 's')];
  return parts.join('') || '0s';
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A producer uses the same few durations a thousand times. */
const READ_BEFORE = new Map<string, number>();

const EXPECTED = 'expected a duration such as 500ms, 30s, 1h30m, 7d or PT10M';
const NUMBER = '(\\d{1,15}(?:\\.\\d{1,9})?)';
const HUMAN = new RegExp(`^(?:${NUMBER}d)?(?:${NUMBER}h)?(?:${NUMBER}m)?(?:${NUMBER}s)?(?:${NUMBER}ms)?$`);
const ISO = new RegExp(
  `^P(?:${NUMBER}W)?(?:${NUMBER}D)?(?:T(?=\\d)(?:${NUMBER}H)?(?:${NUMBER}M)?(?:${NUMBER}S)?)?$`,
);

function humanMs(text: string): number | null {
  return sumOf(HUMAN.exec(text), [DAY, HOUR, MINUTE, SECOND, 1]);
}

function isoMs(text: string): number | null {
  return sumOf(ISO.exec(text), [7 * DAY, DAY, HOUR, MINUTE, SECOND]);
}

/** Null if the match contains no number. */
function sumOf(match: RegExpExecArray | null, unitsMs: readonly number[]): number | null {
  const numbers = match?.slice(1) ?? [];
  if (!numbers.some((number) => number !== undefined)) return null;
  return unitsMs.reduce((sum, unitMs, place) => sum + Number(numbers[place] ?? 0) * unitMs, 0);
}

function withinBounds(what: string, input: string | number, ms: number): number {
  if (ms < 0) throw refused(what, input, 'expected a duration that is not negative');
  if (ms > MAX_DURATION_MS) throw refused(what, input, 'expected at most 100 years');
  return Math.round(ms);
}

function part(amount: number, unit: string): string {
  return amount === 0 ? '' : `${amount}${unit}`;
}

function refused(what: string, input: unknown, expected: string): TaskqError {
  return new TaskqError('bad_duration', `${what} ${shown(input)}: ${expected}`);
}
