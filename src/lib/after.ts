import { MAX_TIMER_MS } from './max-timer-ms.ts';

/**
 * Calls back after `ms` milliseconds, without limit: a plain timer above 24 days fires at once. Returns a function that
 * cancels it.
 */
export function after(ms: number, callback: () => void): () => void {
  let timer = setTimeout(next, Math.min(ms, MAX_TIMER_MS), ms);
  function next(leftMs: number): void {
    if (leftMs <= MAX_TIMER_MS) callback();
    else timer = setTimeout(next, Math.min(leftMs - MAX_TIMER_MS, MAX_TIMER_MS), leftMs - MAX_TIMER_MS);
  }
  return () => clearTimeout(timer);
}
