import { UNLIMITED_ATTEMPTS } from '../../domain/enqueue-options.ts';
import { formatDuration } from '../../lib/duration.ts';

/** A setting in few words; `-` where it is not set. */
export function attemptsText(maxAttempts: number | null): string {
  if (maxAttempts === null) return '-';
  return maxAttempts >= UNLIMITED_ATTEMPTS ? 'unlimited' : String(maxAttempts);
}

/** `fixed 10m`; a growing back-off with its cap: `exponential 5s to 1h`. */
export function backoffText(backoff: Readonly<Record<string, unknown>> | null): string {
  if (backoff === null) return '-';
  const { kind, base_ms, max_ms } = backoff;
  const duration = (ms: unknown) => (typeof ms === 'number' ? formatDuration(ms) : '');
  const cap = kind !== 'fixed' && typeof max_ms === 'number' ? ` to ${duration(max_ms)}` : '';
  return `${String(kind)} ${duration(base_ms)}${cap}`;
}

/** `5/1m, probe after 30s` */
export function breakerText(breaker: Readonly<Record<string, unknown>> | null): string {
  if (breaker === null) return '-';
  const { failures, within_ms, probe_after_ms = 30_000 } = breaker;
  const probe =
    probe_after_ms === 'none' ? 'no probe' : `probe after ${formatDuration(Number(probe_after_ms))}`;
  return `${String(failures)}/${formatDuration(Number(within_ms))}, ${probe}`;
}

/** `100/1m + 20`; null: there is no rate. */
export function rateText(rate: string | null, burst: number | null): string | null {
  return rate === null ? null : `${rate} + ${burst}`;
}

export function durationText(ms: number | null): string {
  return ms === null ? '-' : formatDuration(ms);
}
