import type { FunctionAnswer } from '../../domain/function-answer.ts';
import type { RunSingle } from '../../lib/open-transaction.ts';
import { isUndone } from '../../lib/server-trouble.ts';
import { type AnswerRow, answerOf, callFunction, callFunctions } from '../../queue/protocol/run-function.ts';
import { BriefFunctions } from './brief-functions.ts';

/** A call of a SQL function for a task. */
export interface FunctionCall {
  readonly name: string;
  /** JSON text. */
  readonly payload: string;
  /** Aborted: the server cancels the function, and nothing of it is committed. */
  readonly signal: AbortSignal;
  /** The server ends it after this time at the latest, in milliseconds; null: it does not. */
  readonly timeoutMs: number | null;
}

/** Calls it in a transaction of its own. Throws what the server raises, or FunctionError: then nothing is committed. */
export function callAlone(
  run: RunSingle,
  { name, payload, signal, timeoutMs }: FunctionCall,
): Promise<FunctionAnswer> {
  const statement = { ...callFunction(name, payload), signal, timeoutMs };
  return run<AnswerRow, FunctionAnswer>(statement, (rows) => answerOf(name, rows));
}

/** A call that waits for its batch. */
interface Waiting extends FunctionCall {
  /** Undefined: nothing of it is committed, and it is to run in a transaction of its own. */
  readonly resolve: (answer: FunctionAnswer | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** The most calls of a batch, and the longest payload in one, in characters. */
const MOST_CALLS = 100;
const MOST_LENGTH = 10_000;

/** A batch that takes longer, in milliseconds, waits for a lock: each of its calls does so alone instead. */
const BATCH_MS = 500;

/**
 * Calls SQL functions in transactions. Brief ones that are called at the same time share one, which costs a fraction of
 * a transaction each. It only ever commits what has succeeded: where one function fails, is slow or has to be
 * interrupted, nothing of the batch is committed, and each runs in a transaction of its own, as all others do at once.
 */
export class FunctionCalls {
  readonly #run: RunSingle;
  readonly #brief: BriefFunctions;
  #waiting: Waiting[] = [];

  constructor(run: RunSingle, brief = new BriefFunctions()) {
    this.#run = run;
    this.#brief = brief;
  }

  /** Throws as `callAlone`. */
  async call(call: FunctionCall): Promise<FunctionAnswer> {
    const mayJoin = this.#brief.has(call.name) && call.payload.length <= MOST_LENGTH;
    const answer = mayJoin ? await this.#callInBatch(call) : undefined;
    return answer ?? this.#callAlone(call);
  }

  async #callAlone(call: FunctionCall): Promise<FunctionAnswer> {
    const beganAt = performance.now();
    try {
      const answer = await callAlone(this.#run, call);
      this.#brief.ran(call.name, performance.now() - beganAt);
      return answer;
    } catch (error) {
      this.#brief.failed(call.name);
      throw error;
    }
  }

  #callInBatch(call: FunctionCall): Promise<FunctionAnswer | undefined> {
    return new Promise((resolve, reject) => this.#wait({ ...call, resolve, reject }));
  }

  #wait(call: Waiting): void {
    // Tasks that start in this turn of the event loop come along.
    if (this.#waiting.length === 0) setImmediate(this.#sendBatches);
    this.#waiting.push(call);
  }

  readonly #sendBatches = (): void => {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < waiting.length; from += MOST_CALLS) {
      const batch = waiting.slice(from, from + MOST_CALLS);
      if (batch.length === 1) batch[0]!.resolve(undefined);
      else void this.#runBatch(batch);
    }
  };

  async #runBatch(batch: readonly Waiting[]): Promise<void> {
    const interruption = new AbortController();
    const interrupt = () => interruption.abort();
    for (const { signal } of batch) {
      if (signal.aborted) interrupt();
      signal.addEventListener('abort', interrupt);
    }
    const limits = batch.flatMap(({ timeoutMs }) => timeoutMs ?? []);
    const statement = {
      ...callFunctions(batch),
      signal: interruption.signal,
      timeoutMs: Math.min(BATCH_MS, ...limits),
      ownSession: true,
    };
    let isCommitting = false;
    try {
      const answers = await this.#run<AnswerRow, readonly FunctionAnswer[]>(statement, (rows) => {
        const read = rows.map((row, n) => answerOf(batch[n]!.name, [row]));
        isCommitting = true;
        return read;
      });
      this.#resolve(batch, answers);
    } catch (error) {
      if (isCommitting && !isUndone(error)) for (const { reject } of batch) reject(error);
      else this.#separate(batch);
    } finally {
      for (const { signal } of batch) signal.removeEventListener('abort', interrupt);
    }
  }

  /** Those without an answer were not started, since the last one with an answer has used up the time. */
  #resolve(batch: readonly Waiting[], answers: readonly FunctionAnswer[]): void {
    for (const [n, call] of batch.entries()) {
      if (n < answers.length) call.resolve(answers[n]);
      else this.#wait(call);
    }
    if (answers.length < batch.length) this.#brief.wasSlow(batch[answers.length - 1]!.name);
  }

  #separate(batch: readonly Waiting[]): void {
    for (const { name, resolve } of batch) {
      this.#brief.failed(name);
      resolve(undefined);
    }
  }
}
