import type { EndedTask } from '../lease/held-task.ts';
import type { OutcomeRecorder } from './outcome-recorder.ts';
import type { RetryWait } from './retry-wait.ts';

export interface KeyedOutcomesOptions {
  readonly recorder: OutcomeRecorder;
  readonly retryWait: RetryWait;
  /** A statement failed and will be sent again. */
  readonly onStatementFailed: (error: unknown) => void;
  /** An outcome has its answer, or waits to be sent again. */
  readonly onSent: () => void;
}

/** Few in one statement: the server waits 20 ms for its keys, and then a millisecond for each. */
const MAX_FRESH = 10;
/** Send this many statements of fresh outcomes before one with a repeated outcome. */
const FRESH_PER_REPEATED = 10;

/**
 * Records outcomes whose follow-ups have keys. A producer may have such a key in an open transaction, so they are sent
 * beside all other outcomes, on another connection. Fresh outcomes go first; while there are more of them, a repeated
 * one goes after every tenth statement.
 */
export class KeyedOutcomes {
  readonly #options: KeyedOutcomesOptions;
  #fresh: EndedTask[] = [];
  #repeated: EndedTask[] = [];
  #isSending = false;
  /** Statements of fresh outcomes since the last with a repeated one. */
  #freshInTurn = 0;

  constructor(options: KeyedOutcomesOptions) {
    this.#options = options;
  }

  /** True while a statement has no answer. */
  get isSending(): boolean {
    return this.#isSending;
  }

  /** Send these too. What is not taken goes back to the ledger. */
  add(outcomes: readonly EndedTask[], signal: AbortSignal): void {
    for (const held of outcomes) (held.delivery === undefined ? this.#fresh : this.#repeated).push(held);
    if (!this.#isSending) void this.#send(signal);
  }

  async #send(signal: AbortSignal): Promise<void> {
    const { recorder, retryWait, onStatementFailed, onSent } = this.#options;
    this.#isSending = true;
    for (let batch = this.#take(); batch.length > 0; batch = this.#take()) {
      try {
        await recorder.record(batch, signal);
      } catch (error) {
        onStatementFailed(error);
        for (const held of batch) retryWait.later(held);
      }
      onSent();
    }
    this.#isSending = false;
  }

  #take(): EndedTask[] {
    const isTurn = this.#freshInTurn >= FRESH_PER_REPEATED && this.#repeated.length > 0;
    if (this.#fresh.length === 0 || isTurn) {
      this.#freshInTurn = 0;
      return this.#repeated.splice(0, 1);
    }
    this.#freshInTurn += 1;
    return this.#fresh.splice(0, MAX_FRESH);
  }
}

/** Whether an outcome may have to wait for the producer of a key. */
export function waitsForKeys({ outcome }: EndedTask): boolean {
  return outcome.kind === 'completed' && outcome.followUps?.haveKeys === true;
}
