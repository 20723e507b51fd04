import { type Attempt, currentAttempt } from './attempt.ts';

/**
 * Catch what no handler catches: a rejected promise nobody waits for, a throw in a timer. It is traced back to its
 * attempt, which then fails with it; undefined: it cannot be traced. Returns what ends the watch.
 */
export function catchStrays(onStray: (attempt: Attempt | undefined, thrown: unknown) => void): () => void {
  const hear = (thrown: unknown) => {
    const attempt = currentAttempt.getStore();
    attempt?.stray(thrown);
    onStray(attempt, thrown);
  };
  process.on('unhandledRejection', hear);
  process.on('uncaughtException', hear);
  return () => {
    process.off('unhandledRejection', hear);
    process.off('uncaughtException', hear);
  };
}
