import { Bell } from './bell.ts';

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

/**
 * Run `shot` now and again after each pause, never two at once, until the signal aborts. Resolves when it has
 * aborted and the shot that was running has ended.
 */
export async function every(
  shot: (signal: AbortSignal) => Promise<unknown>,
  options: EveryOptions,
): Promise<void> {
  const { everyMs, signal, onError, jitter = 0.1, bell = new Bell() } = options;
  while (!signal.aborted) {
    try {
      await shot(signal);
    } catch (error) {
      onError(error);
    }
    await bell.wait(everyMs * (1 - jitter + 2 * jitter * Math.random()), signal);
  }
}
