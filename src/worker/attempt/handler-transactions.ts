import type { FunctionAnswer } from '../../domain/function-answer.ts';
import type { OpenTransaction, RunSingle } from '../../lib/open-transaction.ts';
import type { SynchronousCommit } from '../../lib/synchronous-commit.ts';
import type { TransactionPool } from '../../lib/transaction-pool.ts';
import { checkCallable, type FunctionCall, FunctionCalls } from './function-calls.ts';
import type { Transactions } from './transact.ts';

export interface TransactionSettings {
  readonly databaseUrl: string;
  readonly synchronousCommit: SynchronousCommit;
  readonly workerId: number;
  readonly installation: string;
}

/** How long `begin`, and the completion with its commit, may take, in milliseconds. */
const DEADLINE_MS = 30_000;

/** The transactions of this process's handlers. Connects, and loads the driver, when the first one begins. */
export class HandlerTransactions implements Transactions {
  readonly settings: TransactionSettings;
  readonly #run: RunSingle = async (statement, read) => {
    this.#pool ??= openPool(this.settings);
    return (await this.#pool).run(statement, read);
  };
  readonly #calls = new FunctionCalls(this.#run);
  #pool: Promise<TransactionPool> | undefined;

  constructor(settings: TransactionSettings) {
    this.settings = settings;
  }

  get workerId(): number {
    return this.settings.workerId;
  }

  get installation(): string {
    return this.settings.installation;
  }

  async begin(setting: string, value: string): Promise<OpenTransaction> {
    this.#pool ??= openPool(this.settings);
    return (await this.#pool).begin(setting, value);
  }

  /** How long a call takes that goes into a batch; see `FunctionCalls`. */
  expectedMs(name: string, payload: string): number | undefined {
    return this.#calls.expectedMs(name, payload);
  }

  call(call: FunctionCall): Promise<FunctionAnswer> {
    return this.#calls.call(call);
  }

  check(name: string, signal: AbortSignal): Promise<void> {
    return checkCallable(this.#run, name, signal);
  }

  /** Undo what is open, and close every connection. */
  async close(): Promise<void> {
    await (await this.#pool)?.close();
  }
}

async function openPool({ databaseUrl, synchronousCommit }: TransactionSettings): Promise<TransactionPool> {
  const { TransactionPool } = await import('../../lib/transaction-pool.ts');
  return new TransactionPool({
    databaseUrl,
    synchronousCommit,
    applicationName: 'taskq handlers',
    deadlineMs: DEADLINE_MS,
  });
}
