import { formatDuration } from '../../lib/duration.ts';

/** Express an instant relative to now: `3m ago`, `in 2h`, `now`. Empty for null. */
export function relativeTime(iso: string | null | undefined, now: number): string {
  if (iso === null || iso === undefined) return '';
  if (!Number.isFinite(Date.parse(iso))) return iso; // `infinity`
  const ms = Date.parse(iso) - now;
  if (Math.abs(ms) < 1000) return 'now';
  const span = roughly(Math.floor(Math.abs(ms) / 1000) * 1000);
  return ms < 0 ? `${span} ago` : `in ${span}`;
}

/** A duration in its largest unit, and the next smaller one while that matters: `45s`, `3m`, `2h5m`, `4d`. */
export function roughly(ms: number): string {
  const unit = UNITS.find((size) => ms >= 10 * size) ?? 1;
  return formatDuration(Math.floor(ms / unit) * unit);
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** From ten of a unit on, smaller units are left out. */
const UNITS = [DAY, HOUR, MINUTE, 1000, 100, 10, 1];

/** An instant for people, in their time zone: `2030-01-31 09:00:00`. Empty for null. */
export function localTime(iso: string | null | undefined): string {
  if (iso === null || iso === undefined) return '';
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  const minutes = -date.getTimezoneOffset();
  return new Date(date.getTime() + minutes * MINUTE).toISOString().slice(0, 19).replace('T', ' ');
}
