import { type Attempt, currentAttempt } from './attempt.ts';

/**
 * Catch errors that no handler catches: an unhandled rejection, a throw in a timer. Each is traced back to its attempt,
 * which it fails; undefined: it cannot be traced. Returns a function that ends the watch.
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
