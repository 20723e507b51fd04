/**
 * Calls back after `ms` milliseconds, without limit: a plain timer above 24 days fires at once. Returns a function that
 * cancels it.
 */
export function after(ms: number, callback: () => void): () => void {
  let timer = setTimeout(next, Math.min(ms, MOST_MS), ms);
  function next(leftMs: number): void {
    if (leftMs <= MOST_MS) callback();
    else timer = setTimeout(next, Math.min(leftMs - MOST_MS, MOST_MS), leftMs - MOST_MS);
  }
  return () => clearTimeout(timer);
}

const MOST_MS = 2 ** 31 - 1;
