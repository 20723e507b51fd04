import pg from 'pg';
import { openDatabase } from './database.ts';
import { destroy, forgetStatements, processIdOf, withDeadline } from './driver.ts';
import { TaskqError } from './errors.ts';
import { withLiterals } from './literal.ts';
import {
  GuardedClient,
  type LastStatement,
  type OpenTransaction,
  type SingleStatement,
} from './open-transaction.ts';
import { redactUrl } from './redact-url.ts';
import { hintToConnect } from './server-trouble.ts';
import { isDurable, setDurability } from './session.ts';
import type { SessionOptions } from './session-types.ts';
import { SingleTransaction } from './single-transaction.ts';
import { messageOf } from './thrown.ts';
import { asUnsent } from './unsent.ts';
import { within } from './within.ts';

export interface TransactionPoolOptions extends SessionOptions {
  readonly databaseUrl: string;
  /** Name of the connections in `pg_stat_activity`. */
  readonly applicationName: string;
  /** Milliseconds that our own statements may take. */
  readonly deadlineMs: number;
}

/** How long to wait for the request to cancel a statement before its connection is broken. */
const CANCEL_MS = 1000;

/**
 * Resets what a transaction may leave in its session: `discard all` without the plans of our functions. It takes 0.05 ms
 * of the server; to make those plans again takes 1.6 ms.
 */
const RESET = `close all; set session authorization default; reset role; reset all; deallocate all; unlisten *;
  select pg_catalog.pg_advisory_unlock_all(); discard temp; discard sequences`;

/**
 * Connections for transactions of an application's own code, each made when there is no idle one. A transaction begins
 * with the settings that the role and the database give a session: what one transaction leaves behind is reset before
 * the next.
 */
export class TransactionPool {
  readonly #options: TransactionPoolOptions;
  readonly #pool: pg.Pool;
  /** For requests to cancel. */
  readonly #beside: ReturnType<typeof openDatabase>;
  readonly #open = new Set<PooledTransaction>();
  readonly #singles = new Set<SingleTransaction>();
  /** Resets under way, each of a connection that will be idle. */
  #resets: Promise<void>[] = [];
  readonly #sessions = new WeakMap<pg.PoolClient, KnownSession>();

  constructor(options: TransactionPoolOptions) {
    const { databaseUrl, applicationName } = options;
    this.#options = options;
    this.#pool = new pg.Pool({
      connectionString: databaseUrl,
      max: Number.MAX_SAFE_INTEGER, // callers hold one each
      application_name: applicationName,
      connectionTimeoutMillis: 10_000,
      idleTimeoutMillis: 30_000,
      allowExitOnIdle: true,
      keepAlive: true,
    });
    this.#pool.on('error', () => {});
    this.#pool.on('connect', (client) => client.on('error', () => {}));
    this.#beside = openDatabase({ databaseUrl, applicationName, maxConnections: 1, deadlineMs: CANCEL_MS });
  }

  /** Begins a transaction, at read committed, with this setting of its own. */
  async begin(setting: string, value: string): Promise<OpenTransaction> {
    const client = await this.#connect();
    const mark = pg.escapeLiteral(value);
    const text = `begin isolation level read committed;
      select pg_catalog.set_config('${setting}', ${mark}, true), pg_catalog.pg_backend_pid() as pid`;
    try {
      const results = await withDeadline(client, this.#options.deadlineMs, () => client.query(text));
      const { pid } = (results as unknown as readonly pg.QueryResult<{ pid: number }>[])[1]!.rows[0]!;
      const transaction: PooledTransaction = new PooledTransaction(client, {
        commitText: `select ${setDurability({ ...this.#options, until: 'commit' })};`,
        deadlineMs: this.#options.deadlineMs,
        cancel: () => this.#beside.query({ text: 'select pg_cancel_backend($1)', values: [pid] }),
        onEnd: (how) => {
          this.#open.delete(transaction);
          for (const event of ['notice', 'notification']) client.removeAllListeners(event);
          if (how === 'broken') client.release(true);
          else if (processIdOf(client) === pid) this.#reset(client);
          // Behind a pooler, the session may be that of another client by now, or its settings those of the pooler.
          else client.release();
        },
      });
      this.#open.add(transaction);
      return transaction;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  /**
   * Runs one statement, without values of its session, in a transaction of its own: its rows are committed unless `read`
   * throws. Throws the server's error, or what `read` throws, if nothing was committed (`isUndone`); with any other
   * error it is unknown, but nothing is committed if the process of this pool ends.
   */
  async run<Row, T>(statement: SingleStatement, read: (rows: readonly Row[]) => T): Promise<T> {
    const { text, values, signal, timeoutMs = null, ownSession = false } = statement;
    const client = await this.#connect().catch((error: unknown) => {
      throw asUnsent(error);
    });
    let session: KnownSession;
    try {
      session = await this.#sessionOf(client);
    } catch (error) {
      client.release(true);
      throw asUnsent(error);
    }
    const { pid, durability } = session;
    if (ownSession && pid === null) {
      client.release();
      throw asUnsent(new Error('the session is shared with other clients of a pooler'));
    }
    // Behind a pooler the session is not ours to reset.
    const reset = pid === null ? '' : `;${RESET}`;
    const single = new SingleTransaction(client, pid, {
      deadlineMs: this.#options.deadlineMs,
      cancelMs: CANCEL_MS,
      commit: `${durability}commit${reset}`,
      cancel: (running) => this.#beside.query({ text: 'select pg_cancel_backend($1)', values: [running] }),
      onEnd: (how) => {
        if (how === 'open') this.#reset(client, `rollback${reset}`);
        else client.release(how === 'broken');
      },
    });
    this.#singles.add(single);
    try {
      const limit = timeoutMs === null ? '' : `set local statement_timeout = ${Math.ceil(timeoutMs)};`;
      return await single.run<Row, T>({
        begin: `begin isolation level read committed;${limit}`,
        statement: withLiterals(text, values),
        read,
        ...(signal && { signal }),
      });
    } finally {
      this.#singles.delete(single);
    }
  }

  /** What is known of the session of a connection; asked once for each. */
  async #sessionOf(client: pg.PoolClient): Promise<KnownSession> {
    const known = this.#sessions.get(client);
    if (known !== undefined) return known;
    const { rows } = await withDeadline(client, this.#options.deadlineMs, () =>
      client.query<{ pid: number; found: string }>(
        `select pg_catalog.pg_backend_pid() as pid, pg_catalog.current_setting('synchronous_commit') as found`,
      ),
    );
    const { pid, found } = rows[0]!;
    const isDirect = pid === processIdOf(client);
    const session = {
      pid: isDirect ? pid : null,
      durability:
        isDirect && isDurable(found, this.#options)
          ? ''
          : `select ${setDurability({ ...this.#options, until: 'commit' })};`,
    };
    this.#sessions.set(client, session);
    return session;
  }

  /** Breaks the connections of transactions that are open, and closes the others. */
  async close(): Promise<void> {
    for (const transaction of this.#open) transaction.break();
    for (const single of this.#singles) single.cut();
    await Promise.all(this.#resets);
    await Promise.all([this.#pool.end(), this.#beside.close()]);
  }

  /** Gives the connection back once its session is as it was; the transaction's end does not wait for that. */
  #reset(client: pg.PoolClient, text = RESET): void {
    forgetStatements(client);
    const reset = withDeadline(client, this.#options.deadlineMs, () => client.query(text)).then(
      () => client.release(),
      () => client.release(true),
    );
    this.#resets.push(reset);
    void reset.then(() => {
      this.#resets = this.#resets.filter((other) => other !== reset);
    });
  }

  async #connect(): Promise<pg.PoolClient> {
    // Wait for a connection that is being reset rather than open another one.
    if (this.#pool.idleCount === 0) await this.#resets.shift();
    try {
      return await this.#pool.connect();
    } catch (cause) {
      if (cause instanceof pg.DatabaseError) throw cause;
      const why = (cause as NodeJS.ErrnoException).code ?? messageOf(cause);
      const where = redactUrl(this.#options.databaseUrl);
      throw new TaskqError('connection_failed', `cannot reach the database ${where}: ${why}`, {
        hint: hintToConnect(why),
        cause,
      });
    }
  }
}

interface KnownSession {
  /** Its server process; null: a pooler is between, and it changes. */
  readonly pid: number | null;
  /** Text that sets `synchronous_commit` for a transaction; empty: the session has it so, and each reset restores it. */
  readonly durability: string;
}

interface Host {
  /** Sent with the last statement. */
  readonly commitText: string;
  readonly deadlineMs: number;
  /** Asks the server to cancel the running statement. */
  readonly cancel: () => Promise<unknown>;
  readonly onEnd: (how: 'reusable' | 'broken') => void;
}

class PooledTransaction implements OpenTransaction {
  readonly #client: pg.PoolClient;
  readonly #host: Host;
  readonly #guarded: GuardedClient;
  #isOver = false;

  constructor(client: pg.PoolClient, host: Host) {
    this.#client = client;
    this.#host = host;
    this.#guarded = new GuardedClient(client);
  }

  get client(): OpenTransaction['client'] {
    return this.#guarded.client;
  }

  /** In one message: a process that stops between the two would keep the last statement's locks. */
  async commit({ text, values }: LastStatement): Promise<void> {
    this.#guarded.close('the transaction is over');
    await this.#finish(`${this.#host.commitText}${withLiterals(text, values)};commit`);
  }

  async rollback(): Promise<void> {
    if (this.#guarded.closed !== undefined) return;
    this.#guarded.close('the transaction was rolled back');
    // A connection that breaks is rolled back as well.
    await this.#finish('rollback').catch(() => {});
  }

  cut(why: string): void {
    if (this.#guarded.closed !== undefined) return;
    this.#guarded.close(why);
    void within(CANCEL_MS, this.#host.cancel())
      .catch(() => {})
      .finally(() => this.break());
  }

  /** Breaks its connection without waiting for the server, which undoes what is not committed. */
  break(): void {
    this.#guarded.close('the transaction was rolled back');
    destroy(this.#client);
    this.#end('broken');
  }

  async #finish(text: string): Promise<void> {
    try {
      await withDeadline(this.#client, this.#host.deadlineMs, () => this.#client.query(text));
      this.#end('reusable');
    } catch (error) {
      // Also after a refusal: the transaction is still open, and breaking the connection rolls it back.
      this.#end('broken');
      throw error;
    }
  }

  #end(how: 'reusable' | 'broken'): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#host.onEnd(how);
  }
}
