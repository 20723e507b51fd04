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
  /** The trouble of the last round: logged when it begins, not every minute while it lasts. */
  #known: ReadonlySet<string> = new Set();
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
    const met = new Set<string>();
    const newsOf = (messages: readonly string[]) =>
      messages.filter((message) => !met.has(message) && met.add(message) && !this.#known.has(message));
    for (let isMore = true; isMore && !stop.aborted; ) {
      const done = await maintain(db);
      if (done === undefined) return;
      if (Object.values(done.counts).some((count) => count > 0))
        events.event('worker.maintained', done.counts);
      for (const partition of newsOf(done.detached)) events.event('partition.detached', { partition });
      for (const reason of newsOf(done.failed)) events.event('housekeeping.failed', { reason });
      for (const { id, error } of done.refused) this.#refused.log({ task_id: id, error });
      isMore = done.more;
    }
    this.#known = met;
  }
}
