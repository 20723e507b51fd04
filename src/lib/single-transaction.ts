import type pg from 'pg';
import { destroy, withDeadline } from './driver.ts';
import { TaskqError } from './errors.ts';
import { within } from './within.ts';

/** What a single transaction does with its connection. */
export interface SingleHost {
  readonly deadlineMs: number;
  /** How long the request to cancel a statement may take before its connection is broken. */
  readonly cancelMs: number;
  /** Text that commits, and leaves the session as it was. */
  readonly commit: string;
  /** Asks the server to cancel the statement that runs in this process. */
  cancel(pid: number): Promise<unknown>;
  /**
   * Takes the connection back: `clean`: its session is as it was; `open`: roll the transaction back;
   * `broken`: it is of no use.
   */
  onEnd(how: 'clean' | 'open' | 'broken'): void;
}

export interface SingleWork<Row, T> {
  /** Begins the transaction. */
  readonly begin: string;
  readonly statement: string;
  readonly read: (rows: readonly Row[]) => T;
  readonly signal?: AbortSignal;
}

/** A transaction of one statement, in two messages: a client that is gone by the second has committed nothing. */
export class SingleTransaction {
  readonly #client: pg.PoolClient;
  readonly #host: SingleHost;
  /** The server process, if it stays the same; null: it is asked for in the transaction. */
  #pid: number | null;
  /** Set once the transaction was interrupted. */
  #cutting: Promise<void> | undefined;

  constructor(client: pg.PoolClient, pid: number | null, host: SingleHost) {
    this.#client = client;
    this.#pid = pid;
    this.#host = host;
  }

  /** Runs it, and gives the connection back. Throws the server's error, what `read` throws, or that it was interrupted. */
  async run<Row, T>({ begin, statement, read, signal }: SingleWork<Row, T>): Promise<T> {
    const cut = () => this.cut();
    signal?.addEventListener('abort', cut);
    let value: T;
    try {
      if (signal?.aborted) throw interrupted();
      let opening = begin;
      if (this.#pid === null) {
        this.#pid = await this.#askPid(begin);
        opening = '';
      }
      const results = await this.#client.query(`${opening}${statement}`);
      if (this.#cutting !== undefined) throw interrupted();
      value = read((Array.isArray(results) ? results.at(-1) : results).rows);
    } catch (error) {
      signal?.removeEventListener('abort', cut);
      if (this.#cutting === undefined) this.#host.onEnd('open');
      throw this.#cutting === undefined ? error : interrupted();
    }
    signal?.removeEventListener('abort', cut);
    await this.#commit();
    return value;
  }

  /** Interrupts it: the server cancels its statement, and the connection is broken. */
  cut(): void {
    this.#cutting ??= this.#cut();
  }

  async #cut(): Promise<void> {
    // The connection is ours until it is broken, so the request cannot cancel another statement.
    if (this.#pid !== null) await within(this.#host.cancelMs, this.#host.cancel(this.#pid)).catch(() => {});
    destroy(this.#client);
    this.#host.onEnd('broken');
  }

  async #askPid(begin: string): Promise<number> {
    const results = await this.#client.query(`${begin}select pg_catalog.pg_backend_pid() as pid`);
    return (results as unknown as readonly pg.QueryResult<{ pid: number }>[]).at(-1)!.rows[0]!.pid;
  }

  async #commit(): Promise<void> {
    const { deadlineMs, commit } = this.#host;
    try {
      await withDeadline(this.#client, deadlineMs, () => this.#client.query(commit));
    } catch (error) {
      if (this.#cutting === undefined) this.#host.onEnd('open');
      throw error;
    }
    if (this.#cutting === undefined) this.#host.onEnd('clean');
  }
}

function interrupted(): TaskqError {
  return new TaskqError('interrupted', 'the statement was interrupted, and nothing is committed');
}
