import { type Outcome, outcomeOf } from '../../domain/outcome.ts';
import { isServerError, type Queryable } from '../../lib/database.ts';
import { isUndone } from '../../lib/server-trouble.ts';
import { type SettleAnswer, settle } from '../../queue/protocol/settle.ts';
import type { PromisedClaim } from '../claim/promised-claim.ts';
import type { EndedTask, HeldTask } from '../lease/held-task.ts';
import type { Ledger } from '../lease/ledger.ts';
import type { ReportingWorker } from '../lease/registered-worker.ts';
import { describeRefusal, isAnswered, isConflict } from './classify-refusal.ts';
import { RefusedBatch, type RowRefusal } from './refused-batch.ts';
import type { RetryWait } from './retry-wait.ts';

export interface RecorderHooks {
  /** What the worker owes to the workflows of the steps that end. */
  readonly promised: PromisedClaim;
  /** The database has answered the outcome. */
  readonly onSettled: (held: EndedTask, answer: SettleAnswer) => void;
  /** The database refused the data of this outcome and has stored `notStored` in its place. */
  readonly onNotStored: (held: HeldTask, error: unknown) => void;
  /** The database refuses `notStored` as well; the task is left until its lease runs out. */
  readonly onRefused: (held: HeldTask, error: unknown) => void;
  /** A statement failed and will be sent again. */
  readonly onStatementFailed: (error: unknown) => void;
}

export interface RecorderOptions {
  readonly worker: ReportingWorker;
  /** Where to send outcomes that may free slots; absent: on any connection. */
  readonly pipeline?: Queryable;
  readonly ledger: Ledger;
  readonly retryWait: RetryWait;
  readonly hooks: RecorderHooks;
}

/** The longest wait before an outcome is sent again while its partition does not exist. */
const MAX_UNPLACED_WAIT_MS = 30_000;
/** The same, when it is refused by itself for a reason that may pass. */
const MAX_ALONE_WAIT_MS = 30_000;
/**
 * A conflict that recurs this often, in about a minute, while the server takes other statements, is permanent: a
 * trigger of the application raises it.
 */
const MAX_CONFLICTS = 10;
/** Let the database wait at most this often for a transaction that has a row locked: it may stay open for long. */
const MAX_VAIN_WAITS = 4;

/** Records outcomes; one that cannot be stored delays no other. */
export class OutcomeRecorder {
  readonly #options: RecorderOptions;
  /** Consecutive batches that the server refused for a reason that may pass. */
  #refusedBatches = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Record a batch of outcomes. Throws if the database does not take it now; what it has taken has left the ledger. */
  async record(batch: readonly EndedTask[], signal: AbortSignal): Promise<void> {
    const { worker, hooks } = this.#options;
    const refused = new RefusedBatch({
      worker,
      refusedBefore: this.#refusedBatches,
      signal,
      onStatementFailed: hooks.onStatementFailed,
    });
    // Split before sending: halving may mark more reports as alone, for the next batch.
    const alone = batch.filter(isAlone);
    const together = alone.length === 0 ? batch : batch.filter((held) => !isAlone(held));
    try {
      await this.#settle(together, refused);
      for (const held of alone) await this.#settle([held], refused);
      this.#refusedBatches = 0;
    } catch (error) {
      this.#refusedBatches = isAnswered(error) ? this.#refusedBatches + 1 : 0;
      throw error;
    }
  }

  /** Record a part of a batch, and find an outcome that cannot be stored by halving. */
  async #settle(part: readonly EndedTask[], refused: RefusedBatch): Promise<void> {
    if (part.length === 0) return;
    const { worker, pipeline, ledger, hooks } = this.#options;
    const willClaim = hooks.promised.mayPromise && part.some(({ task }) => task.workflow !== null);
    try {
      const waitFor = part.find(deservesWait)?.id;
      const db = pipeline !== undefined && mayFreeSlots(part) ? pipeline : worker.db;
      const answers = await settle(db, worker.workerId, part, { waitFor, willClaim }).finally(() => {
        if (willClaim) hooks.promised.owe();
      });
      refused.partTaken();
      this.#applyAnswers(part, answers, waitFor);
    } catch (error) {
      if (!isUndone(error)) ledger.reports.mayBeRecorded(part);
      const reason = await refused.reasonOf(part, error);
      if (reason === 'transient') throw error;
      if (part.length === 1) {
        await this.#handleRefusal(part[0]!, reason, error, refused);
        return;
      }
      const half = Math.ceil(part.length / 2);
      await this.#settle(part.slice(0, half), refused);
      await this.#settle(part.slice(half), refused);
    }
  }

  async #handleRefusal(
    held: EndedTask,
    reason: RowRefusal,
    error: unknown,
    refused: RefusedBatch,
  ): Promise<void> {
    const { retryWait, hooks } = this.#options;
    switch (reason) {
      case 'data':
        return this.#settleWithoutData(held, error, refused);
      case 'no partition':
        return retryWait.later(held, MAX_UNPLACED_WAIT_MS);
      case 'one row': {
        const conflicts = (held.delivery?.conflicts ?? 0) + (isConflict(error) ? 1 : 0);
        if (conflicts > MAX_CONFLICTS) return this.#settleWithoutData(held, error, refused);
        hooks.onStatementFailed(error);
        return retryWait.later(held, MAX_ALONE_WAIT_MS, { isAlone: true, conflicts });
      }
      default:
        reason satisfies never;
    }
  }

  /**
   * Store a replacement outcome, which reads none of the task's settings. If even that cannot be stored, something else
   * blocks the row, for example a constraint of the application: then let the task go, so that no other outcome waits
   * for it.
   */
  async #settleWithoutData(held: EndedTask, error: unknown, refused: RefusedBatch): Promise<void> {
    const { ledger, hooks } = this.#options;
    if (held.delivery?.refusal !== undefined) {
      hooks.onRefused(held, error);
      if (ledger.settled(held)) hooks.onSettled(held, { answer: 'lost', consequence: null });
      return;
    }
    ledger.reports.replaceOutcome(held, notStored(error), error);
    await this.#settle([held], refused);
  }

  #applyAnswers(
    part: readonly EndedTask[],
    answers: readonly SettleAnswer[],
    waitedFor: string | undefined,
  ): void {
    const { ledger, retryWait } = this.#options;
    for (let index = 0; index < part.length; index++) {
      const held = part[index]!;
      const answer = answers[index]!;
      if (answer.answer === 'busy')
        retryWait.locked(held, vainWaitsOf(held) + (held.id === waitedFor ? 1 : 0));
      else if (ledger.settled(held)) this.#finish(held, answer);
    }
  }

  #finish(held: EndedTask, answer: SettleAnswer): void {
    const { hooks } = this.#options;
    const { delivery, attempt } = held;
    const { status } = answer;
    const isGone = answer.answer === 'lost' && status === undefined;
    // The handler's own transaction may have completed it, and its answer was lost; or this outcome, sent before.
    const completion = attempt?.completion.kind === 'sent' ? attempt.completion : undefined;
    const isCommitted =
      completion !== undefined && (isGone || (answer.answer === 'already' && status === 'completed'));
    const isRepeat = isCommitted || (answer.answer === 'lost' && delivery?.isRepeat === true);
    const known = isRepeat ? { ...answer, answer: 'already' as const } : answer;
    hooks.onSettled(
      isCommitted ? { ...held, outcome: completion.outcome } : held,
      isCommitted ? { answer: 'already', consequence: null } : known,
    );
    if (delivery?.refusal !== undefined && (isRepeat || answer.answer !== 'lost'))
      hooks.onNotStored(held, delivery.refusal);
  }
}

function isAlone({ delivery }: HeldTask): boolean {
  return delivery?.isAlone === true;
}

/** Whether these outcomes may free slots of groups, and wait for no other transaction: then a claim can follow them. */
export function mayFreeSlots(outcomes: readonly EndedTask[]): boolean {
  return (
    outcomes.some(({ task }) => task.groupKey !== null) &&
    !outcomes.some((held) => isAlone(held) || deservesWait(held))
  );
}

/** Its row was locked the last time: the statement waits for one row only, before it locks anything else. */
export function deservesWait(held: HeldTask): boolean {
  return held.delivery?.isLocked === true && vainWaitsOf(held) < MAX_VAIN_WAITS;
}

/** How often the database has waited for its row, and not got it. */
export function vainWaitsOf({ delivery }: HeldTask): number {
  return delivery?.vainWaits ?? 0;
}

/** The outcome of a task whose own outcome the database refuses, with the server's error. */
function notStored(error: unknown): Outcome {
  const code = isServerError(error) ? (error.code ?? null) : null;
  return outcomeOf({ kind: 'notStored', refusal: describeRefusal(error), code });
}
