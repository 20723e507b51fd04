import type { WorkerRank } from '../../queue/protocol/rescue.ts';
import type { EventLog } from '../log/events.ts';

/** Misses in a row before a turn counts as held: a worker that has its turn holds the row for milliseconds. */
const MISSES = 3;

/** Turns between two scans out of turn, by any worker. */
const EVERY = 4;

/**
 * Counts the turns at a duty that were missed because another transaction holds its row, and logs that once if it is
 * the same one each time. All workers see this at the same time, so `isOverdue` sends each out of turn at a different
 * time.
 */
export class HeldTurn {
  readonly #events: EventLog;
  readonly #duty: 'rescue' | 'housekeeping';
  #rank: WorkerRank = { rank: 0, of: 1 };
  #missed = 0;
  /** Who held the row at the last miss, and for how many misses in a row. */
  #holder: string | undefined;
  #missedBySame = 0;
  #isLogged = false;

  constructor(events: EventLog, duty: 'rescue' | 'housekeeping') {
    this.#events = events;
    this.#duty = duty;
  }

  /** Whether enough turns were missed that this worker acts without waiting for its turn. */
  get isOverdue(): boolean {
    const { rank, of } = this.#rank;
    return this.#missed >= MISSES && (this.#missed - MISSES) % (EVERY * of) === EVERY * rank;
  }

  /** The row was held by `holder`, as far as it is known; the duty may have been done out of turn. */
  missed(holder: Readonly<Record<string, unknown>> | null, { rank, of }: WorkerRank = this.#rank): void {
    this.#missed++;
    this.#rank = { rank: rank % Math.max(of, 1), of: Math.max(of, 1) };
    // On a busy machine a worker may find the row locked by a different holder several times: that is no held turn.
    const who = JSON.stringify(holder);
    this.#missedBySame = who === this.#holder ? this.#missedBySame + 1 : 1;
    this.#holder = who;
    if (this.#missedBySame < MISSES || this.#isLogged) return;
    this.#isLogged = true;
    this.#events.event('turn.held', { duty: this.#duty, holder });
  }

  /** The row is free. */
  free(): void {
    this.#missed = 0;
    this.#missedBySame = 0;
    this.#isLogged = false;
  }
}
