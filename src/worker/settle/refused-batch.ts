import { isServerError } from '../../lib/database.ts';
import { ensurePartitions } from '../../queue/protocol/maintain.ts';
import { settleNothing } from '../../queue/protocol/settle.ts';
import type { EndedTask } from '../lease/held-task.ts';
import type { ReportingWorker } from '../lease/registered-worker.ts';
import { classifyRefusal, isAnswered, mayNotEnqueue } from './classify-refusal.ts';

/** What a refusal means for a single outcome. */
export type RowRefusal = 'data' | 'no partition' | 'one row';

/** If the server refuses batches this often in a row for a reason that may pass, one row may be to blame. */
const REFUSALS_BEFORE_BISECTION = 3;
/** Halving finds that row within this many consecutive refusals; after more, no single row is to blame. */
const MAX_REFUSALS_IN_BISECTION = 40;

export interface RefusedBatchOptions {
  readonly worker: ReportingWorker;
  /** How many batches before this one the server refused in a row, for a reason that may pass. */
  readonly refusedBefore: number;
  /** Aborted when no time is left for halving. */
  readonly signal: AbortSignal;
  readonly onStatementFailed: (error: unknown) => void;
}

/** Finds out why the server refuses a batch of outcomes, or a part of it while it is halved. */
export class RefusedBatch {
  readonly #options: RefusedBatchOptions;
  /** Some rows need a partition that cannot be made now. */
  #lacksPartition = false;
  /** The server takes an empty batch. */
  #serverAnswers = false;
  /** Consecutive refusals that report trouble. */
  #refusals = 0;

  constructor(options: RefusedBatchOptions) {
    this.#options = options;
  }

  /** The server has taken a part. */
  partTaken(): void {
    this.#refusals = 0;
  }

  /**
   * Why a part was refused. `transient`: send the whole batch again later; anything else is about a row in this part.
   * No row is to blame if the server refuses an empty batch too, or if a missing partition can be made.
   */
  async reasonOf(part: readonly EndedTask[], error: unknown): Promise<'transient' | RowRefusal> {
    const refusal = classifyRefusal(error);
    // The functions have judged follow-ups: what they raise is no refusal of one.
    const isJudged = part.some(hasFollowUps);
    if (isJudged && mayNotEnqueue(error)) return 'data';
    if (refusal === 'unclear' && !isJudged) {
      await this.#settleNothing();
      return 'data';
    }
    if (refusal === 'transient' || refusal === 'unclear')
      return (await this.#isOneRowToBlame(part, error)) ? 'one row' : 'transient';
    if (refusal === 'data' || this.#lacksPartition) return refusal;
    if (await this.#makePartitions()) return 'transient';
    this.#lacksPartition = true;
    this.#options.onStatementFailed(error);
    return refusal;
  }

  /**
   * Whether a single row may have caused a refusal that reports trouble or a conflict: a trigger of the application may
   * raise any SQLSTATE. True if the server keeps refusing the part but takes an empty one.
   */
  async #isOneRowToBlame(part: readonly EndedTask[], error: unknown): Promise<boolean> {
    const { refusedBefore, signal } = this.#options;
    const isKnown = part.length === 1 && part[0]!.delivery?.isAlone === true;
    if (!isAnswered(error) || (refusedBefore < REFUSALS_BEFORE_BISECTION && !isKnown)) return false;
    this.#refusals += 1;
    if (this.#refusals > MAX_REFUSALS_IN_BISECTION || signal.aborted) return false;
    if (!this.#serverAnswers) await this.#settleNothing();
    this.#serverAnswers = true;
    return true;
  }

  #settleNothing(): Promise<void> {
    const { db, workerId } = this.#options.worker;
    return settleNothing(db, workerId);
  }

  async #makePartitions(): Promise<boolean> {
    try {
      return (await ensurePartitions(this.#options.worker.db)) > 0;
    } catch (error) {
      if (!isServerError(error)) throw error;
      this.#options.onStatementFailed(error);
      return false;
    }
  }
}

function hasFollowUps({ outcome }: EndedTask): boolean {
  return outcome.kind === 'completed' && outcome.followUps !== undefined;
}
