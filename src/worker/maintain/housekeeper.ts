import type { Queryable } from '../../lib/database.ts';
import { beginHousekeeping, maintain } from '../../queue/protocol/maintain.ts';
import type { EventLog } from '../log/events.ts';
import { RefusedTasks } from '../log/refused-tasks.ts';
import { HeldTurn } from './held-turn.ts';

/** For all workers of the database together; slightly shorter than the time between two checks of one worker. */
const PERIOD_MS = 50_000;

export interface HousekeeperOptions {
  readonly db: Queryable;
  readonly events: EventLog;
  readonly stop: AbortSignal;
}

/** Does the housekeeping of all workers when it is due and no other worker is doing it. */
export class Housekeeper {
  readonly #options: HousekeeperOptions;
  /** Messages already logged, which are not repeated every minute. */
  readonly #logged = new Set<string>();
  readonly #refused: RefusedTasks;
  readonly #turn: HeldTurn;

  constructor(options: HousekeeperOptions) {
    this.#options = options;
    this.#turn = new HeldTurn(options.events, 'housekeeping');
    this.#refused = new RefusedTasks(options.events);
  }

  /**
   * Do the housekeeping if it is due, a page at a time until a page is not full. The turn is taken first, in a
   * transaction of its own: if a statement fails, no worker repeats it before the next turn, which then comes later.
   */
  async look(): Promise<void> {
    const { db, events, stop } = this.#options;
    const { isDue, heldBy } = await beginHousekeeping(db, PERIOD_MS);
    if (heldBy !== undefined) return this.#turn.missed(heldBy);
    this.#turn.free();
    if (!isDue) return;
    for (let isMore = true; isMore && !stop.aborted; ) {
      const done = await maintain(db);
      if (done === undefined) return;
      if (Object.values(done.counts).some((count) => count > 0))
        events.event('worker.maintained', done.counts);
      for (const partition of this.#unlogged(done.detached))
        events.event('partition.detached', { partition });
      for (const reason of this.#unlogged(done.failed)) events.event('housekeeping.failed', { reason });
      for (const { id, error } of done.refused) this.#refused.log({ task_id: id, error });
      isMore = done.more;
    }
  }

  #unlogged(messages: readonly string[]): readonly string[] {
    const unlogged = messages.filter((message) => !this.#logged.has(message));
    for (const message of unlogged) this.#logged.add(message);
    return unlogged;
  }
}
