import type { FunctionAnswer } from '../../domain/function-answer.ts';
import type { RunSingle } from '../../lib/open-transaction.ts';
import { isUndone } from '../../lib/server-trouble.ts';
import {
  type AnswerRow,
  answerOf,
  callFunction,
  callFunctions,
  findFunction,
  refuseUncallable,
} from '../../queue/protocol/run-function.ts';
import { BatchFilling } from './batch-filling.ts';
import { BriefFunctions } from './brief-functions.ts';

/** A call of a SQL function for a task. */
export interface FunctionCall {
  readonly name: string;
  /** JSON text. */
  readonly payload: string;
  /** Aborted: the server cancels the function, and commits nothing of it. */
  readonly signal: AbortSignal;
  /** The server ends it after this time at the latest, in milliseconds; null: it does not. */
  readonly timeoutMs: number | null;
  /** Whether its attempt shares the slot of another, so that it may run in a batch only. */
  readonly inBatchOnly: boolean;
}

/** Rejects a batch-only call whose batch did not run: neither did the call. */
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

/** Throws FunctionError if there is no such function, or it may not be called. */
export function checkCallable(run: RunSingle, name: string, signal: AbortSignal): Promise<void> {
  return run({ ...findFunction(name), signal }, (rows: readonly { readonly usable: boolean }[]) =>
    refuseUncallable(name, rows),
  );
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

/** A batch that takes longer, in milliseconds, probably waits for a lock: its calls are then run one by one. */
const BATCH_MS = 500;

/** With this many calls a transaction is cheap: they do not wait for more. */
const ENOUGH_CALLS = 16;

/** Calls do not wait for a transaction that has already run for this long, in milliseconds. */
const LONGEST_WAIT_MS = 20;

/**
 * Calls SQL functions in transactions. Brief ones that are called at the same time share one, which costs a fraction of
 * a transaction each. Those called while one is under way share the next, unless they are many or take as long as the
 * overhead of a transaction: then waiting would save little. Only success is committed: if one function fails, is slow
 * or has to be interrupted, the batch is rolled back, and each of its calls runs in its own transaction, as all other
 * functions do at once.
 */
export class FunctionCalls {
  readonly #run: RunSingle;
  readonly #brief: BriefFunctions;
  readonly #longestWaitMs: number;
  readonly #waiting: Waiting[] = [];
  /** How many transactions of brief functions are under way. */
  #underWay = 0;
  /** How long a transaction takes beside its functions, in milliseconds: the recent mean. */
  #aroundMs = 0;
  #turn: NodeJS.Immediate | undefined;

  constructor(run: RunSingle, brief = new BriefFunctions(), longestWaitMs = LONGEST_WAIT_MS) {
    this.#run = run;
    this.#brief = brief;
    this.#longestWaitMs = longestWaitMs;
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
    const isBrief = this.expectedMs(call.name, call.payload) !== undefined;
    const isOver = isBrief ? this.#begins() : undefined;
    const run = this.#timed((tookMs) => this.#brief.ran(call.name, tookMs));
    try {
      return await callAlone(run, call);
    } catch (error) {
      this.#brief.failed(call.name);
      throw error;
    } finally {
      isOver?.();
    }
  }

  #callInBatch(call: FunctionCall, expectedMs: number): Promise<FunctionAnswer | undefined> {
    return new Promise((resolve, reject) => this.#wait({ ...call, expectedMs, resolve, reject }));
  }

  #wait(call: Waiting): void {
    this.#waiting.push(call);
    this.#sendSoon();
  }

  /** Tasks that start in this turn of the event loop join it. */
  #sendSoon(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      const expectedMs = this.#waiting.reduce((sum, call) => sum + call.expectedMs, 0);
      const isEnough = this.#waiting.length >= ENOUGH_CALLS || expectedMs >= this.#aroundMs;
      if (this.#underWay > 0 && !isEnough) return;
      for (const batch of batchesOf(this.#waiting.splice(0))) {
        if (batch.length === 1) batch[0]!.resolve(undefined);
        else void this.#runBatch(batch);
      }
    });
  }

  /** A transaction of brief functions begins. Returns what to call when it is over. */
  #begins(): () => void {
    this.#underWay += 1;
    let isCounted = true;
    const isOver = () => {
      clearTimeout(timer);
      if (!isCounted) return;
      isCounted = false;
      this.#underWay -= 1;
      if (this.#waiting.length > 0) this.#sendSoon();
    };
    const timer = setTimeout(isOver, this.#longestWaitMs);
    return isOver;
  }

  async #runBatch(batch: readonly Waiting[]): Promise<void> {
    const isOver = this.#begins();
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
    let ranMs = 0;
    const run = this.#timed((tookMs) => {
      ranMs = tookMs;
    });
    try {
      const answers = await run<AnswerRow, readonly FunctionAnswer[]>(statement, (rows) => {
        const read = rows.map((row, n) => answerOf(batch[n]!.name, [row]));
        isCommitting = true;
        return read;
      });
      this.#resolve(batch, answers, ranMs);
    } catch (error) {
      if (isCommitting && !isUndone(error)) for (const { reject } of batch) reject(error);
      else this.#separate(batch);
    } finally {
      for (const { signal } of batch) signal.removeEventListener('abort', interrupt);
      isOver();
    }
  }

  /** Runs a statement whose rows are AnswerRows, and passes on how long its functions took, in milliseconds. */
  #timed(onRan: (tookMs: number) => void): RunSingle {
    return async (statement, read) => {
      const beganAt = performance.now();
      let tookMs = 0;
      const value = await this.#run(statement, (rows: readonly never[]) => {
        tookMs = (rows as readonly AnswerRow[])[0]?.tookMs ?? 0;
        return read(rows);
      });
      this.#aroundMs += (performance.now() - beganAt - tookMs - this.#aroundMs) / 4;
      onRan(tookMs);
      return value;
    };
  }

  /** Calls without an answer were not started: the others used up the time. */
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
