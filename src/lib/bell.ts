export type Waited = 'rung' | 'elapsed' | 'aborted';

/**
 * Something to sleep on until it is rung. A ring wakes everyone who waits; rings while nobody waits are
 * remembered as one, so that what happens just before a wait is not slept through.
 */
export class Bell {
  #remembered = false;
  readonly #sleepers = new Set<() => void>();

  /** Wake those who wait, or the next one to wait. */
  ring(): void {
    if (this.#sleepers.size === 0) this.#remembered = true;
    else for (const wake of [...this.#sleepers]) wake();
  }

  /**
   * Wait for a ring, for `ms` milliseconds (more than 24 days count as 24 days) or for the abort, whichever
   * comes first. An aborted signal wins over a remembered ring and leaves it in place. Leaves no listener on
   * the signal, which may live as long as the process.
   */
  wait(ms: number, signal: AbortSignal): Promise<Waited> {
    if (signal.aborted) return Promise.resolve('aborted');
    if (this.#remembered) {
      this.#remembered = false;
      return Promise.resolve('rung');
    }
    return this.#sleep(ms, signal);
  }

  #sleep(ms: number, signal: AbortSignal): Promise<Waited> {
    return new Promise((resolve) => {
      const end = (how: Waited) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        this.#sleepers.delete(onRing);
        resolve(how);
      };
      const onAbort = () => end('aborted');
      const onRing = () => end('rung');
      const timer = setTimeout(end, Math.min(ms, MAX_TIMER_MS), 'elapsed');
      signal.addEventListener('abort', onAbort);
      this.#sleepers.add(onRing);
    });
  }
}

/** Above it, `setTimeout` fires after one millisecond. */
const MAX_TIMER_MS = 2 ** 31 - 1;
