import { isUnanswered, type Queryable } from '../lib/database.ts';
import { TaskqError } from '../lib/errors.ts';
import { Advancer } from '../queue/protocol/advancer.ts';

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
      // That the database is away is reported for each request.
      onError: (error) => void (isUnanswered(error) || error instanceof TaskqError || report(error)),
    });
  }

  /** There may be an operation whose batch is due. */
  begin(): void {
    this.#advancer.learn(0);
    this.#running ??= this.#advancer.untilNone(this.#closing.signal).finally(() => {
      this.#running = undefined;
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }
}
