import { isUnanswered, type Queryable, type Statement } from '../lib/database.ts';
import { sayTrouble } from '../lib/server-trouble.ts';
import type { EventLog } from './log/events.ts';

/** A worker's two ways to the database: what the main thread asks, and the heartbeat thread's own connection. */
export type Connection = 'statements' | 'heartbeats';

export interface ConnectionStateOptions {
  readonly db: Queryable;
  /** Where it leads, for the log. */
  readonly databaseUrl: string;
  readonly events: EventLog;
  /** So long without an answer is an interruption, too, be it that this process itself stood still. */
  readonly silenceMs: () => number;
  /** Called when both are back. */
  readonly onRestored: () => void;
}

/**
 * Runs statements and knows whether the database answers: one log line when either connection is lost, one when both
 * are back. What the server itself refuses is an answer.
 */
export class ConnectionState implements Queryable {
  readonly #options: ConnectionStateOptions;
  /** Those that are lost, and when they last failed. */
  readonly #lost = new Map<Connection, number>();
  /** The last heartbeat was refused. */
  #isRefused = false;
  #since = performance.now();
  #answeredAt = performance.now();

  constructor(options: ConnectionStateOptions) {
    this.#options = options;
  }

  /** Whether one of them is known not to work. */
  get isLost(): boolean {
    return this.#lost.size > 0;
  }

  /** For how long both have been uninterrupted, in milliseconds; 0 while one is lost or silent, or heartbeats are refused. */
  get steadyMs(): number {
    const now = performance.now();
    return this.isLost || this.#isRefused || now - this.#answeredAt > this.#options.silenceMs()
      ? 0
      : now - this.#since;
  }

  async query<Row extends object>(statement: Statement): Promise<Row[]> {
    const askedAt = performance.now();
    try {
      const rows = await this.#options.db.query<Row>(statement);
      this.answered('statements', askedAt);
      return rows;
    } catch (error) {
      if (isUnanswered(error)) this.failed('statements', sayTrouble(error, this.#options.databaseUrl));
      else this.answered('statements', askedAt);
      throw error;
    }
  }

  /** The server refuses heartbeats (it is read-only, it has no room): very likely those of the others, too. */
  refused(): void {
    this.#isRefused = true;
  }

  /** The database has answered what was asked then. What was asked before the last failure proves nothing. */
  answered(connection: Connection, askedAt: number): void {
    const now = performance.now();
    const wasLost = this.isLost;
    if (!wasLost && now - this.#answeredAt > this.#options.silenceMs()) this.#since = now;
    this.#answeredAt = now;
    if (connection === 'heartbeats' && this.#isRefused) {
      this.#isRefused = false;
      this.#since = now;
    }
    if (askedAt >= (this.#lost.get(connection) ?? 0)) this.#lost.delete(connection);
    if (!wasLost || this.isLost) return;
    this.#options.events.event('connection.restored', { lost_ms: Math.round(now - this.#since) });
    this.#since = now;
    this.#options.onRestored();
  }

  /** It has not. */
  failed(connection: Connection, why: string): void {
    const now = performance.now();
    if (!this.isLost) {
      this.#since = now;
      this.#options.events.event('connection.lost', { connection, error: { message: why } });
    }
    this.#lost.set(connection, now);
  }
}
