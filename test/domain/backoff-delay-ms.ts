import type { StoredBackoff } from '../../src/domain/backoff.ts';

/**
 * Returns how long to wait after the `failures`-th failure (1, 2, …), in whole milliseconds; `random` is in [0, 1).
 * Capped before and after jitter, so it never exceeds `max_ms`. The SQL function `backoff_delay_ms` must compute the
 * same in the same order.
 */
export function backoffDelayMs(backoff: StoredBackoff, failures: number, random: number): number {
  const { max_ms: maxMs, jitter } = backoff;
  const delayMs = Math.min(maxMs, grownMs(backoff, Math.max(1, failures)));
  return Math.floor(Math.min(maxMs, delayMs * (1 - jitter + 2 * jitter * random)));
}

function grownMs(backoff: StoredBackoff, n: number): number {
  switch (backoff.kind) {
    case 'fixed':
      return backoff.base_ms;
    case 'linear':
      return backoff.base_ms * n;
    case 'quadratic':
      return backoff.base_ms * n * n;
    case 'exponential':
      return exponentialMs(backoff, n);
    default:
      return backoff.kind satisfies never;
  }
}

/** Compares logarithms first: PostgreSQL's power() raises an error where JavaScript's returns Infinity. */
function exponentialMs({ base_ms: baseMs, factor, max_ms: maxMs }: StoredBackoff, n: number): number {
  if (baseMs === 0) return 0;
  if ((n - 1) * Math.log(factor) >= Math.log(maxMs / baseMs)) return maxMs;
  return baseMs * factor ** (n - 1);
}
