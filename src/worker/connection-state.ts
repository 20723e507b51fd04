import { isPassing, type Queryable, type Statement } from '../lib/database.ts';
import type { EventLog } from './events.ts';

/**
 * Runs statements and knows whether the database answers: one log line when it stops answering, one when it is back.
 */
export class ConnectionState implements Queryable {
  readonly #db: Queryable;
  readonly #events: EventLog;
  readonly #silenceMs: number;
  readonly #onRestored: () => void;
  #lost = false;
  #since = performance.now();
  #answeredAt = performance.now();

  /** `silenceMs`: so long without an answer is an interruption, too, be it that this process itself stood still. */
  constructor(db: Queryable, events: EventLog, silenceMs: number, onRestored: () => void) {
    this.#db = db;
    this.#events = events;
    this.#silenceMs = silenceMs;
    this.#onRestored = onRestored;
  }

  /** For how long the connection has been uninterrupted, in milliseconds; 0 while it is lost or silent. */
  get steadyMs(): number {
    const now = performance.now();
    return this.#lost || now - this.#answeredAt > this.#silenceMs ? 0 : now - this.#since;
  }

  async query<Row extends object>(statement: Statement): Promise<Row[]> {
    try {
      const rows = await this.#db.query<Row>(statement);
      this.answered();
      return rows;
    } catch (error) {
      if (isPassing(error)) this.failed(error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  /** The database has answered. */
  answered(): void {
    const now = performance.now();
    if (!this.#lost && now - this.#answeredAt > this.#silenceMs) this.#since = now;
    this.#answeredAt = now;
    if (!this.#lost) return;
    this.#lost = false;
    this.#events.event('connection.restored', { lost_ms: Math.round(performance.now() - this.#since) });
    this.#since = performance.now();
    this.#onRestored();
  }

  /** It has not. */
  failed(why: string): void {
    if (this.#lost) return;
    this.#lost = true;
    this.#since = performance.now();
    this.#events.event('connection.lost', { error: why });
  }
}
