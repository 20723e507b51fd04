import { MAX_TIMER_MS } from './max-timer-ms.ts';

export type Waited = 'triggered' | 'elapsed' | 'aborted';

/**
 * An event to wait for, which repeats. A trigger wakes everyone who waits; triggers without a waiter are remembered as
 * one, so that a wait just after an event does not miss it.
 */
export class Wakeup {
  #remembered = false;
  readonly #waiting = new Set<() => void>();

  /** Wakes everyone who waits, or else the next to wait. */
  trigger(): void {
    if (this.#waiting.size === 0) this.#remembered = true;
    else for (const wake of [...this.#waiting]) wake();
  }

  /**
   * Waits for a trigger, for `ms` milliseconds (at most 24 days) or for the abort, whichever comes first. An aborted
   * signal wins over a remembered trigger and leaves it in place. Leaves no listener on the signal, which may live as
   * long as the process.
   */
  wait(ms: number, signal: AbortSignal): Promise<Waited> {
    if (signal.aborted) return Promise.resolve('aborted');
    if (this.#remembered) {
      this.#remembered = false;
      return Promise.resolve('triggered');
    }
    return this.#sleep(ms, signal);
  }

  #sleep(ms: number, signal: AbortSignal): Promise<Waited> {
    return new Promise((resolve) => {
      const end = (how: Waited) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        this.#waiting.delete(onTrigger);
        resolve(how);
      };
      const onAbort = () => end('aborted');
      const onTrigger = () => end('triggered');
      const timer = setTimeout(end, Math.min(ms, MAX_TIMER_MS), 'elapsed');
      signal.addEventListener('abort', onAbort);
      this.#waiting.add(onTrigger);
    });
  }
}
