import { isUnanswered, type Queryable, type Statement } from '../lib/database.ts';
import { describeDatabaseError } from '../lib/server-trouble.ts';
import type { EventLog } from './log/events.ts';

/** A worker's two kinds of connections: for the main thread's statements, and for the heartbeat thread. */
export type Connection = 'statements' | 'heartbeats';

export interface ConnectionStateOptions {
  readonly db: Queryable;
  /** Named in log lines. */
  readonly databaseUrl: string;
  readonly events: EventLog;
  /** This long without an answer is also an interruption, even if this process itself was frozen. */
  readonly silenceMs: () => number;
  /** Called when both kinds are back. */
  readonly onRestored: () => void;
}

/**
 * Runs statements and tracks whether the database answers: logs one line when either kind of connection is lost, and one when
 * both are back. A refusal by the server itself is an answer.
 */
export class ConnectionState implements Queryable {
  readonly #options: ConnectionStateOptions;
  /** The lost connections, each with the time of its last failure. */
  readonly #lost = new Map<Connection, number>();
  /** Whether the server refused the last heartbeat. */
  #isRefused = false;
  #since = performance.now();
  #answeredAt = performance.now();

  constructor(options: ConnectionStateOptions) {
    this.#options = options;
  }

  /** Whether either kind is known to be lost. */
  get isLost(): boolean {
    return this.#lost.size > 0;
  }

  /**
   * How long both have been uninterrupted, in milliseconds; 0 while one is lost or silent, or heartbeats are refused.
   */
  get steadyMs(): number {
    const now = performance.now();
    return this.isLost || this.#isRefused || now - this.#answeredAt > this.#options.silenceMs()
      ? 0
      : now - this.#since;
  }

  query<Row extends object>(statement: Statement): Promise<Row[]> {
    return this.#ask(this.#options.db, statement);
  }

  /** Returns what runs statements by way of `db` and tracks their answers too. */
  over(db: Queryable): Queryable {
    return { query: (statement) => this.#ask(db, statement) };
  }

  async #ask<Row extends object>(db: Queryable, statement: Statement): Promise<Row[]> {
    const askedAt = performance.now();
    try {
      const rows = await db.query<Row>(statement);
      this.answered('statements', askedAt);
      return rows;
    } catch (error) {
      if (isUnanswered(error))
        this.failed('statements', describeDatabaseError(error, this.#options.databaseUrl));
      else this.answered('statements', askedAt);
      throw error;
    }
  }

  /** The server refuses heartbeats (it is read-only or out of space), so it very likely refuses other workers' too. */
  refused(): void {
    this.#isRefused = true;
  }

  /**
   * The database answered a statement sent at `askedAt`. An answer to one sent before the last failure proves nothing.
   */
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

  /** The database did not answer. */
  failed(connection: Connection, why: string): void {
    const now = performance.now();
    if (!this.isLost) {
      this.#since = now;
      this.#options.events.event('connection.lost', { connection, error: { message: why } });
    }
    this.#lost.set(connection, now);
  }
}
