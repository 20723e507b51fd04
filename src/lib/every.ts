import { Bell } from './bell.ts';
import { isUnanswered } from './database.ts';

export interface EveryOptions {
  /** From the end of one shot to the start of the next, in milliseconds. */
  readonly everyMs: number;
  /** Ends the repetition; the shot that runs is given it too. */
  readonly signal: AbortSignal;
  /** Told what a shot threw; the repetition goes on. What it throws itself ends the repetition. */
  readonly onError: (error: unknown) => void;
  /** How far a pause may stray from `everyMs` to either side, as a share of it; 0.1 unless told. */
  readonly jitter?: number;
  /** Rung, it ends the pause at once. */
  readonly bell?: Bell;
}

/** What the server refuses takes at most a twentieth of the time. */
const REFUSED_FACTOR = 20;

/**
 * Run `shot` now and again after each pause, never two at once, until the signal aborts. Resolves when it has
 * aborted and the shot that was running has ended. A shot that the server refused is paid for: the pause after it is
 * at least 20 times as long as it took. One that got no answer is not, for that says nothing of what it costs.
 */
export async function every(
  shot: (signal: AbortSignal) => Promise<unknown>,
  options: EveryOptions,
): Promise<void> {
  const { everyMs, signal, onError, jitter = 0.1, bell = new Bell() } = options;
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
    await bell.wait(pauseMs * (1 - jitter + 2 * jitter * Math.random()), signal);
  }
}
