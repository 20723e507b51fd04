import { TaskqError } from './errors.ts';
import type { SqlValue } from './session-types.ts';

/* Uses no types of the driver: the package's public types reach these, and its users may not have `@types/pg`. */

/** The connection of a transaction: at run time a client of `pg`, without what would end the transaction. */
export interface TransactionClient {
  /** Runs a statement. It fails once the transaction is over, and for `begin`, `commit` and `rollback`. */
  query<Row = Record<string, unknown>>(
    statement: string | { readonly text: string; readonly values?: readonly unknown[] },
    values?: readonly unknown[],
  ): Promise<{ readonly rows: Row[]; readonly rowCount: number | null }>;
}

/** The statement that ends a transaction, just before its commit. */
export interface LastStatement {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

/** A single statement, and what ends it before it is done. */
export interface SingleStatement extends LastStatement {
  /** Aborted: the server cancels the statement, and nothing is committed. */
  readonly signal?: AbortSignal;
  /** The server ends it after this time at the latest, in milliseconds: its client may be gone. */
  readonly timeoutMs?: number | null;
  /** Whether it changes the session, and so is refused, unsent, behind a pooler. Default: false. */
  readonly ownSession?: boolean;
}

/** Runs a statement in a transaction of its own: its rows are committed unless `read` throws. */
export type RunSingle = <Row, T>(statement: SingleStatement, read: (rows: readonly Row[]) => T) => Promise<T>;

/** A transaction that is open. Each way to end it may be taken once; the client is of no use afterwards. */
export interface OpenTransaction {
  readonly client: TransactionClient;
  /**
   * Runs the last statement and commits. Fails with the server's error if nothing was committed (`isUndone`); with any
   * other error it is unknown.
   */
  commit(last: LastStatement): Promise<void>;
  rollback(): Promise<void>;
  /** Undoes it at once, also while a statement runs. */
  cut(why: string): void;
}

/** The part of a client of `pg` that is guarded. */
interface Target {
  query(...statement: unknown[]): unknown;
}

/**
 * Guards the client of a transaction against ending it by hand, and against use after its end, when its connection may
 * belong to another one. What libraries do with a client that they have taken from a pool (`release`, `end`) does nothing.
 */
export class GuardedClient {
  readonly client: TransactionClient;
  #closed: string | undefined;

  constructor(target: Target) {
    const query = (...statement: unknown[]): unknown => {
      if (this.#closed !== undefined) return Promise.reject(refused(this.#closed));
      if (endsTransaction(textOf(statement[0]))) return Promise.reject(refused(BY_HAND));
      return target.query(...statement);
    };
    const inert = () => Promise.resolve();
    const guarded: Readonly<Record<string | symbol, unknown>> = {
      query,
      ...{ connect: inert, end: inert, release: inert },
    };
    this.client = new Proxy(target, {
      get: (_, name) => {
        if (Object.hasOwn(guarded, name)) return guarded[name];
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }) as unknown as TransactionClient;
  }

  /** Refuse further statements, for this reason; the first one counts. */
  close(why: string): void {
    this.#closed ??= why;
  }

  /** Why it was closed; undefined: it is open. */
  get closed(): string | undefined {
    return this.#closed;
  }
}

const BY_HAND = 'ctx.transaction begins and ends the transaction: use savepoints within it';

/** Error of a use of the transaction that is not allowed. */
export function refused(why: string): TaskqError {
  return new TaskqError('transaction_misused', why);
}

function textOf(statement: unknown): string {
  if (typeof statement === 'string') return statement;
  const text = (statement as { readonly text?: unknown } | null | undefined)?.text;
  return typeof text === 'string' ? text : '';
}

/**
 * Whether a statement begins or ends a transaction. The database also catches those hidden behind another statement;
 * this refuses the common case before it has an effect.
 */
function endsTransaction(text: string): boolean {
  return ENDS.test(text.replace(LEADING, ''));
}

/** Space, semicolons and comments. */
const LEADING = /^(?:[\s;]+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/;
const ENDS =
  /^(?:begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b))\b/i;
