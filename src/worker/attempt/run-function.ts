import type { FunctionAnswer } from '../../domain/function-answer.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { refused } from '../../lib/open-transaction.ts';
import {
  type AnswerRow,
  answerOf,
  callFunction,
  functionErrorOf,
} from '../../queue/protocol/run-function.ts';
import type { RunFunctionOptions } from '../handlers/handler.ts';
import type { Attempt } from './attempt.ts';
import { NotBegun } from './function-calls.ts';
import type { Transactions } from './transact.ts';

/** The server ends the statement this long after the worker should have, in milliseconds. */
const LATER_MS = 1000;

/** The most that the server's `statement_timeout` can be: 24 days. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

export interface FunctionRun extends RunFunctionOptions {
  readonly attempt: Attempt;
  readonly transactions: Transactions;
  readonly name: string;
  /** Undefined: the task's own. */
  readonly payload: unknown;
}

/**
 * Call a SQL function by its name, with this payload or the task's own: in a transaction of its own, or in that of a
 * client. Throws FunctionError if it cannot be called, raises, or has answered what cannot be read: then nothing is
 * committed.
 */
export async function runFunction({
  attempt,
  transactions,
  name,
  payload,
  client,
}: FunctionRun): Promise<FunctionAnswer> {
  const { signal, task, timeoutMs, startedAt } = attempt;
  const text = payload === undefined ? task.payload : stringifyExact(payload);
  const left = timeoutMs === null ? null : timeoutMs - (performance.now() - startedAt) + LATER_MS;
  try {
    if (client !== undefined)
      return answerOf(name, (await client.query<AnswerRow>(callFunction(name, text))).rows);
    const limit = left && Math.min(Math.max(1, left), MAX_TIMEOUT_MS);
    const inBatchOnly = attempt.sharesSlot;
    return await transactions.call({ name, payload: text, signal, timeoutMs: limit, inBatchOnly });
  } catch (error) {
    if (error instanceof NotBegun) {
      attempt.hasNotBegun = true;
      throw error;
    }
    if (signal.aborted)
      throw refused(`${name} was interrupted: the attempt has to end (${String(signal.reason)})`);
    throw functionErrorOf(name, error);
  }
}
