import { randomUUID } from 'node:crypto';
import type { FollowUps } from '../../domain/follow-ups.ts';
import type { FunctionAnswer } from '../../domain/function-answer.ts';
import { type Completed, outcomeOf } from '../../domain/outcome.ts';
import { TaskqError } from '../../lib/errors.ts';
import { type OpenTransaction, refused } from '../../lib/open-transaction.ts';
import { isAnyServerError, isUndone } from '../../lib/server-trouble.ts';
import { messageOf } from '../../lib/thrown.ts';
import { completeTransaction, MARK } from '../../queue/protocol/complete-transaction.ts';
import type { TransactionWork } from '../handlers/handler.ts';
import type { Attempt } from './attempt.ts';
import type { FunctionCall } from './function-calls.ts';

/** Where handlers open transactions. */
export interface Transactions {
  /** The worker that holds the tasks. */
  readonly workerId: number;
  /** Of the database: with it, the id of a task is unique among all databases. */
  readonly installation: string;
  /** Begins a transaction, with this setting of its own. */
  begin(setting: string, value: string): Promise<OpenTransaction>;
  /** Calls a SQL function. Nothing of it is committed if this throws. */
  call(call: FunctionCall): Promise<FunctionAnswer>;
  /** Throws FunctionError if there is no such SQL function, or it may not be called. */
  check(name: string, signal: AbortSignal): Promise<void>;
  /** Called before the completion is sent with the commit: after that, only the database knows whether it succeeded. */
  beforeCommit?(completed: Completed): Promise<void>;
}

/** What the handler enqueues, which is stored with the completion. */
export interface Following {
  /** Take no more tasks. Returns those that were enqueued; undefined: none. */
  endFollowUps(): Promise<FollowUps | undefined> | undefined;
  /** The place of the next task. */
  readonly followUpPlace: number;
  /** Nothing was committed: accept follow-ups again, and drop those from this place on. */
  reopenFollowUps(place: number): void;
}

/**
 * Run a handler's work in a transaction whose last statement completes the task. Returns what the work returned, after
 * committing both, unless it is a signal that does not complete the task: that rolls the work back. Throws what the
 * work throws, or why nothing was committed; `transaction_unanswered` if that is unknown.
 */
export async function transact<T>(
  attempt: Attempt,
  transactions: Transactions,
  following: Following,
  work: TransactionWork<T>,
): Promise<T> {
  if (attempt.isCompleting) throw refused('the task was completed by its first ctx.transaction');
  if (attempt.completion.kind === 'open') throw refused('another ctx.transaction of this task is open');
  attempt.completion = { kind: 'open' };
  const { promise, resolve } = withResolvers();
  attempt.transacting = promise;
  const place = following.followUpPlace;
  try {
    return await inTransaction(attempt, transactions, following, work);
  } finally {
    if (!attempt.isCompleting) {
      attempt.completion = { kind: 'none' };
      following.reopenFollowUps(place);
    }
    attempt.transacting = undefined;
    resolve();
  }
}

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((resolved) => {
    resolve = resolved;
  });
  return { promise, resolve };
}

async function inTransaction<T>(
  attempt: Attempt,
  transactions: Transactions,
  following: Following,
  work: TransactionWork<T>,
): Promise<T> {
  const { signal, task } = attempt;
  if (signal.aborted) throw interrupted(signal);
  const mark = randomUUID();
  const transaction = await transactions.begin(MARK, mark);
  const onAbort = () => transaction.cut(interrupted(signal).message);
  signal.addEventListener('abort', onAbort);
  try {
    if (signal.aborted) onAbort();
    const value = await work(transaction.client);
    if (signal.aborted) throw interrupted(signal);
    const ended = outcomeOf({ kind: 'returned', value });
    if (ended.kind === 'completed') {
      const followUps = await following.endFollowUps();
      const outcome = followUps === undefined ? ended : { ...ended, followUps };
      const ranMs = performance.now() - attempt.startedAt;
      const completed = { id: task.id, leaseNo: task.leaseNo, outcome, ranMs };
      const last = completeTransaction(transactions.workerId, completed, mark);
      await transactions.beforeCommit?.(outcome);
      if (signal.aborted) throw interrupted(signal);
      signal.removeEventListener('abort', onAbort);
      attempt.completion = { kind: 'sent', outcome };
      await commit(attempt, () => transaction.commit(last));
      attempt.completion = { kind: 'recorded', outcome };
    }
    return value;
  } finally {
    signal.removeEventListener('abort', onAbort);
    await transaction.rollback(); // does nothing if it is over
  }
}

async function commit(attempt: Attempt, send: () => Promise<void>): Promise<void> {
  try {
    await send();
  } catch (error) {
    if (!isUndone(error))
      throw new TaskqError(
        'transaction_unanswered',
        `the connection was lost at the commit of ctx.transaction: ${messageOf(error)}`,
        { cause: error },
      );
    attempt.completion = { kind: 'none' };
    if (isAnyServerError(error) && error.code === IN_FAILED_TRANSACTION)
      throw refused('the transaction was rolled back: a statement in it had failed, and the handler went on');
    throw error;
  }
}

/** SQLSTATE of any statement after one that failed. */
const IN_FAILED_TRANSACTION = '25P02';

function interrupted(signal: AbortSignal): TaskqError {
  return refused(`the transaction was rolled back: the attempt has to end (${String(signal.reason)})`);
}
