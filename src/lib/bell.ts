export type Waited = 'rung' | 'elapsed' | 'aborted';

/**
 * Wakes sleepers when it rings. A ring wakes everyone who waits; rings while no one waits are remembered as one, so
 * that a wait just after an event does not miss it.
 */
export class Bell {
  #remembered = false;
  readonly #sleepers = new Set<() => void>();

  /** Wakes everyone who waits, or else the next to wait. */
  ring(): void {
    if (this.#sleepers.size === 0) this.#remembered = true;
    else for (const wake of [...this.#sleepers]) wake();
  }

  /**
   * Waits for a ring, for `ms` milliseconds (at most 24 days) or for the abort, whichever comes first. An aborted
   * signal wins over a remembered ring and leaves it in place. Leaves no listener on the signal, which may live as long
   * as the process.
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

/** Above this, `setTimeout` fires after one millisecond. */
const MAX_TIMER_MS = 2 ** 31 - 1;
