import { isUnanswered, type Queryable } from '../lib/database.ts';
import { TaskqError } from '../lib/errors.ts';
import { Advancer } from '../queue/protocol/advancer.ts';
import { notGranted } from '../queue/schema/not-granted.ts';

export interface AdvancingOptions {
  readonly db: Queryable;
  readonly report: (error: unknown) => void;
}

/** Advances operations in a server while one is running. Without one it does not keep the process alive. */
export class Advancing {
  readonly #advancer: Advancer;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;

  constructor({ db, report }: AdvancingOptions) {
    this.#advancer = new Advancer({
      db,
      onError: (error) => {
        // This role may not advance operations: leave them to workers.
        if (notGranted(error) !== undefined) this.#advancer.learn(null);
        // Each request reports a database that does not answer.
        else if (!isUnanswered(error) && !(error instanceof TaskqError)) report(error);
      },
    });
  }

  /** There may be an operation whose batch is due. */
  begin(): void {
    this.#advancer.learn(0);
    this.#running ??= this.#advance();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #advance(): Promise<void> {
    const { signal } = this.#closing;
    // The check and the reset run in one turn of the event loop: an operation that begins before is seen here, and one
    // that begins later starts another round.
    while (this.#advancer.isNeeded && !signal.aborted) await this.#advancer.untilNone(signal);
    this.#running = undefined;
  }
}
