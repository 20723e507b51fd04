import { isUnanswered } from './database.ts';
import { Wakeup } from './wakeup.ts';

export interface EveryOptions {
  /** Milliseconds from the end of one run to the start of the next. */
  readonly everyMs: number;
  /** Stops the repetition; also passed to the running `shot`. */
  readonly signal: AbortSignal;
  /** Called with what a run threw; the repetition continues unless this throws. */
  readonly onError: (error: unknown) => void;
  /** How far a pause may vary from `everyMs` in each direction, as a share of it; default 0.1. */
  readonly jitter?: number;
  /** A trigger ends the pause at once. */
  readonly wakeup?: Wakeup;
}

/** Refused runs take at most a twentieth of the time. */
const REFUSED_FACTOR = 20;

/**
 * Runs `shot` now and again after each pause, never twice at once, until the signal aborts. Resolves when the signal
 * has aborted and the running `shot` has ended. After a run that the server refused, pauses at least 20 times as long
 * as it took. An unanswered run does not lengthen the pause: its time does not show its cost.
 */
export async function every(
  shot: (signal: AbortSignal) => Promise<unknown>,
  options: EveryOptions,
): Promise<void> {
  const { everyMs, signal, onError, jitter = 0.1, wakeup = new Wakeup() } = options;
  while (!signal.aborted) {
    const began = performance.now();
    let refusedMs = 0;
    try {
      await shot(signal);
    } catch (error) {
      onError(error);
      if (!isUnanswered(error)) refusedMs = performance.now() - began;
    }
    const pauseMs = Math.max(everyMs, REFUSED_FACTOR * refusedMs);
    await wakeup.wait(pauseMs * (1 - jitter + 2 * jitter * Math.random()), signal);
  }
}
