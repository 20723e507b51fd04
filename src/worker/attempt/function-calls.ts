import type { FunctionAnswer } from '../../domain/function-answer.ts';
import type { RunSingle } from '../../lib/open-transaction.ts';
import { isUndone } from '../../lib/server-trouble.ts';
import { type AnswerRow, answerOf, callFunction, callFunctions } from '../../queue/protocol/run-function.ts';
import { BatchFilling } from './batch-filling.ts';
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
  /** Whether its attempt shares the slot of another, so that it may run in a batch only. */
  readonly inBatchOnly: boolean;
}

/** Rejects a call that may run in a batch only, if its batch has come to nothing: it has not run. */
export class NotBegun extends Error {
  override readonly name = 'NotBegun';
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
  readonly expectedMs: number;
  /** Undefined: nothing of it is committed, and the batch is over. */
  readonly resolve: (answer: FunctionAnswer | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** The longest payload of a call in a batch, in characters. */
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

  /**
   * How long a call takes that goes into a batch, in milliseconds; its payload is JSON text. Undefined: it has a
   * transaction of its own.
   */
  expectedMs(name: string, payload: string): number | undefined {
    return payload.length <= MOST_LENGTH ? this.#brief.expectedMs(name) : undefined;
  }

  /** Throws as `callAlone`, and NotBegun. */
  async call(call: FunctionCall): Promise<FunctionAnswer> {
    const expectedMs = this.expectedMs(call.name, call.payload);
    const answer = expectedMs === undefined ? undefined : await this.#callInBatch(call, expectedMs);
    if (answer !== undefined) return answer;
    if (call.inBatchOnly) throw new NotBegun();
    return this.#callAlone(call);
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

  #callInBatch(call: FunctionCall, expectedMs: number): Promise<FunctionAnswer | undefined> {
    return new Promise((resolve, reject) => this.#wait({ ...call, expectedMs, resolve, reject }));
  }

  #wait(call: Waiting): void {
    // Tasks that start in this turn of the event loop come along.
    if (this.#waiting.length === 0) setImmediate(this.#sendBatches);
    this.#waiting.push(call);
  }

  readonly #sendBatches = (): void => {
    for (const batch of batchesOf(this.#waiting.splice(0))) {
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
    const beganAt = performance.now();
    try {
      const answers = await this.#run<AnswerRow, readonly FunctionAnswer[]>(statement, (rows) => {
        const read = rows.map((row, n) => answerOf(batch[n]!.name, [row]));
        isCommitting = true;
        return read;
      });
      this.#resolve(batch, answers, performance.now() - beganAt);
    } catch (error) {
      if (isCommitting && !isUndone(error)) for (const { reject } of batch) reject(error);
      else this.#separate(batch);
    } finally {
      for (const { signal } of batch) signal.removeEventListener('abort', interrupt);
    }
  }

  /** Those without an answer were not started, since those with one have used up the time. */
  #resolve(batch: readonly Waiting[], answers: readonly FunctionAnswer[], tookMs: number): void {
    const ran = new Set(batch.slice(0, answers.length).map(({ name }) => name));
    for (const name of ran) this.#brief.ran(name, tookMs / answers.length);
    for (const [n, call] of batch.entries()) {
      if (n < answers.length) call.resolve(answers[n]);
      else if (call.inBatchOnly) call.resolve(undefined);
      else this.#wait(call);
    }
  }

  #separate(batch: readonly Waiting[]): void {
    for (const { name, resolve } of batch) {
      this.#brief.failed(name);
      resolve(undefined);
    }
  }
}

function batchesOf(calls: readonly Waiting[]): Waiting[][] {
  const batches: Waiting[][] = [];
  const filling = new BatchFilling();
  for (const call of calls) {
    if (filling.add(call.expectedMs)) batches.at(-1)!.push(call);
    else batches.push([call]);
  }
  return batches;
}
