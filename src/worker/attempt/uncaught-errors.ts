import { type Attempt, currentAttempt } from './attempt.ts';

/**
 * Catch what no handler catches: a rejected promise nobody waits for, a throw in a timer. It is traced back to its
 * attempt, which then fails with it; undefined: it cannot be traced. Returns what ends the watch.
 */
export function catchUncaughtErrors(
  onError: (attempt: Attempt | undefined, thrown: unknown) => void,
): () => void {
  const trace = (thrown: unknown) => {
    const attempt = currentAttempt.getStore();
    attempt?.failUncaught(thrown);
    onError(attempt, thrown);
  };
  process.on('unhandledRejection', trace);
  process.on('uncaughtException', trace);
  return () => {
    process.off('unhandledRejection', trace);
    process.off('uncaughtException', trace);
  };
}
