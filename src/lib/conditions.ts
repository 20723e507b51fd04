interface Waiter {
  readonly isMet: () => boolean;
  readonly resolve: () => void;
}

/** Promises that each resolve when a condition is met. Call `check` after changing anything they depend on. */
export class Conditions {
  #waiters: Waiter[] = [];

  /** Resolves at once if the condition is met, otherwise at the first `check` that finds it met. */
  until(isMet: () => boolean): Promise<void> {
    if (isMet()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiters.push({ isMet, resolve });
    });
  }

  /** Resolve the promises whose conditions are met now. */
  check(): void {
    if (this.#waiters.length === 0) return;
    const met = this.#waiters.filter(({ isMet }) => isMet());
    if (met.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => !met.includes(waiter));
    for (const { resolve } of met) resolve();
  }
}
