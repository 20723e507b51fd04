import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_TIMER_MS } from './max-timer-ms.ts';

export interface Limit {
  /** Ends the wait early. */
  readonly hurry?: AbortSignal | undefined;
  /** How long to wait after `hurry`, in milliseconds; default 0. */
  readonly hurriedMs?: number;
}

/**
 * Waits for `what`, for at most `ms` milliseconds (24 days if more). Returns whether it has ended. Throws what it throws.
 */
export async function within(
  ms: number,
  what: Promise<unknown>,
  { hurry, hurriedMs = 0 }: Limit = {},
): Promise<boolean> {
  const over = new AbortController();
  const { signal } = over;
  const elapsed = async (limitMs: number) => {
    await sleep(Math.min(limitMs, MAX_TIMER_MS), undefined, { signal });
    return false;
  };
  const hurried = hurry && aborted(hurry, signal).then(() => elapsed(hurriedMs));
  const limits = [elapsed(ms), ...(hurried === undefined ? [] : [hurried])];
  for (const limit of limits) limit.catch(() => {});
  try {
    return await Promise.race([what.then(() => true), ...limits]);
  } finally {
    over.abort();
  }
}

/** Resolves when `signal` has aborted. Rejects, and leaves no listener behind, when `over` aborts first. */
async function aborted(signal: AbortSignal, over: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort', { signal: over });
}
