import type { EventLog } from '../log/events.ts';

/** Missed in a row: a worker that has its turn holds the row for milliseconds. */
const MISSES = 3;

/** A scan out of turn comes so many turns after the last one, of whichever worker. */
const EVERY = 4;

/** Where a worker stands among those that are alive. */
export interface Place {
  readonly rank: number;
  readonly of: number;
}

/**
 * Counts the turns at a duty that were missed because another transaction holds its row, and says so once. Workers see
 * that at the same time, so each may go without its turn at another time.
 */
export class HeldTurn {
  readonly #events: EventLog;
  readonly #duty: 'rescue' | 'housekeeping';
  #place: Place = { rank: 0, of: 1 };
  #missed = 0;
  #isSaid = false;

  constructor(events: EventLog, duty: 'rescue' | 'housekeeping') {
    this.#events = events;
    this.#duty = duty;
  }

  /** So many were missed that this worker is not to wait for the next. */
  get isOverdue(): boolean {
    const { rank, of } = this.#place;
    return this.#missed >= MISSES && (this.#missed - MISSES) % (EVERY * of) === EVERY * rank;
  }

  /** The row was held, by whom that is known of; the duty was done without its turn, or not. */
  missed(holder: Readonly<Record<string, unknown>> | null, { rank, of }: Place = this.#place): void {
    this.#missed++;
    this.#place = { rank: rank % Math.max(of, 1), of: Math.max(of, 1) };
    if (this.#missed < MISSES || this.#isSaid) return;
    this.#isSaid = true;
    this.#events.event('turn.held', { duty: this.#duty, holder });
  }

  /** The row is free. */
  free(): void {
    this.#missed = 0;
    this.#isSaid = false;
  }
}
