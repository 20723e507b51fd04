import { isUnanswered, type Queryable } from '../lib/database.ts';
import { TaskqError } from '../lib/errors.ts';
import { Advancer } from '../queue/protocol/advancer.ts';
import { notGranted } from '../queue/schema/not-granted.ts';

export interface AdvancingOptions {
  readonly db: Queryable;
  readonly report: (error: unknown) => void;
}

/** Advances operations in a server while one goes on. Holds nothing that keeps the process alive otherwise. */
export class Advancing {
  readonly #advancer: Advancer;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;

  constructor({ db, report }: AdvancingOptions) {
    this.#advancer = new Advancer({
      db,
      onError: (error) => {
        // Workers go on with it.
        if (notGranted(error) !== undefined) this.#advancer.learn(null);
        // That the database is away is reported for each request.
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
    // Looked at and ended in one turn: what begins until then is seen here, what begins later starts another.
    while (this.#advancer.isNeeded && !signal.aborted) await this.#advancer.untilNone(signal);
    this.#running = undefined;
  }
}
