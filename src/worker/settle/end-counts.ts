export type End = 'completed' | 'failed' | 'died' | 'snoozed' | 'cancelled' | 'lost' | 'given_back';

/** Counts how attempts ended, in total and since the last `takeRecent`. */
export class EndCounts {
  readonly total = zero();
  #recent = zero();

  count(end: End): void {
    this.total[end] += 1;
    this.#recent[end] += 1;
  }

  /** Attempts with an outcome. */
  get ended(): number {
    const { lost, given_back, ...ended } = this.total;
    return Object.values(ended).reduce((sum, count) => sum + count, 0);
  }

  /** The counts since the last call, without zeros; undefined: all are zero. */
  takeRecent(): Partial<Record<End, number>> | undefined {
    const recent = Object.entries(this.#recent).filter(([, count]) => count > 0);
    this.#recent = zero();
    return recent.length === 0 ? undefined : Object.fromEntries(recent);
  }
}

function zero(): Record<End, number> {
  return { completed: 0, failed: 0, died: 0, snoozed: 0, cancelled: 0, lost: 0, given_back: 0 };
}
