import type { EventLog } from './events.ts';

/** Missed in a row: a worker that has its turn holds the row for milliseconds. */
const MISSES = 3;

/** Counts the turns at a duty that were missed because another transaction holds its row, and says so once. */
export class HeldTurn {
  readonly #events: EventLog;
  readonly #duty: 'rescue' | 'housekeeping';
  #missed = 0;
  #isSaid = false;

  constructor(events: EventLog, duty: 'rescue' | 'housekeeping') {
    this.#events = events;
    this.#duty = duty;
  }

  /** So many were missed that the next is not to be. */
  get isOverdue(): boolean {
    return this.#missed >= MISSES;
  }

  /** The row was held, by whom that is known of. */
  missed(holder: Readonly<Record<string, unknown>> | null): void {
    this.#missed++;
    if (this.#missed < MISSES || this.#isSaid) return;
    this.#isSaid = true;
    this.#events.event('turn.held', { duty: this.#duty, holder });
  }

  /** The duty was done without its turn: the next ones are waited for as before. */
  done(): void {
    this.#missed = 0;
  }

  /** The row is free. */
  free(): void {
    this.#missed = 0;
    this.#isSaid = false;
  }
}
