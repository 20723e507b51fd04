const PAUSE_MS = 60_000;

/** Lets each key through at most once a minute. */
export class OnceAMinute {
  /** When a key was last let through, the oldest first. */
  readonly #at = new Map<string, number>();

  /** Whether the key is let through now. */
  pass(key: string): boolean {
    const now = performance.now();
    for (const [other, at] of this.#at) {
      if (now - at < PAUSE_MS) break;
      this.#at.delete(other);
    }
    if (this.#at.has(key)) return false;
    this.#at.set(key, now);
    return true;
  }
}
