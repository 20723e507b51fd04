import { type Outcome, outcomeOf } from '../../domain/outcome.ts';
import { leaseKey } from '../../domain/task.ts';
import { backingOffMs } from '../../lib/backing-off.ts';
import { isServerError, isUnanswered } from '../../lib/database.ts';
import { isUndone } from '../../lib/server-trouble.ts';
import { messageOf } from '../../lib/thrown.ts';
import { Wakeup } from '../../lib/wakeup.ts';
import { type GiveBackAnswer, giveBack } from '../../queue/protocol/give-back.ts';
import { ensurePartitions } from '../../queue/protocol/maintain.ts';
import { type SettleAnswer, settle, settleNothing } from '../../queue/protocol/settle.ts';
import type { Delivery, EndedTask, HeldTask } from '../lease/held-task.ts';
import type { Ledger } from '../lease/ledger.ts';
import type { RegisteredWorker } from '../lease/registered-worker.ts';
import { classifyRefusal, isConflict } from './classify-refusal.ts';

export interface ReporterHooks {
  /** The database has answered the outcome. */
  readonly onSettled: (held: EndedTask, answer: SettleAnswer) => void;
  /** The task waits in the queue again. */
  readonly onGivenBack: (held: HeldTask) => void;
  /** The database refused the data of this outcome and has stored `notStored` in its place. */
  readonly onNotStored: (held: HeldTask, error: unknown) => void;
  /** The database refuses `notStored` as well; the task is left until its lease runs out. */
  readonly onRefused: (held: HeldTask, error: unknown) => void;
  /** A statement failed and will be sent again. */
  readonly onStatementFailed: (error: unknown) => void;
  /** The last batch is finished: there may be room for more tasks. */
  readonly onSent: () => void;
}

/** A larger statement gains nothing. */
const MAX_BATCH = 2000;
/** Limit the results in one statement to about this many characters. */
const MAX_BATCH_LENGTH = 16_000_000;
/** At most this many reports that are sent alone go between two statements of the others. */
const MAX_ALONE_PER_BATCH = 4;

/**
 * A report that could not be taken is sent again after 50 ms, doubling up to this while another transaction locks its
 * row.
 */
const MAX_BUSY_WAIT_MS = 1000;
/** The same, while its partition does not exist. */
const MAX_UNPLACED_WAIT_MS = 30_000;
/** The same, when it is refused by itself for a reason that may pass. */
const MAX_ALONE_WAIT_MS = 30_000;

/** If the server refuses a batch this often for a reason that may pass, one row may be to blame. */
const REFUSALS_BEFORE_BISECTION = 3;
/** Halving finds that row within this many consecutive refusals; with more, the trouble is not one row's. */
const MAX_REFUSALS_IN_BISECTION = 40;
/** If more reports of a type than this are refused by themselves, no more of its tasks are claimed. */
const MAX_ALONE_PER_TYPE = 20;
/**
 * A conflict that comes back this often, in about a minute, while the server takes other statements, does not pass: a
 * trigger of the application raises it.
 */
const MAX_CONFLICTS = 10;

/** What a refusal means for a single outcome. */
type RowRefusal = 'data' | 'no partition' | 'one row';

/**
 * Sends the ledger's reports to the database: outcomes, and tasks to give back. Batches form naturally: one is in
 * flight at a time, and reports that arrive meanwhile go together in the next. Nothing is dropped: a report stays in
 * the ledger until the database has answered it.
 */
export class Reporter {
  readonly #worker: Omit<RegisteredWorker, 'lease'>;
  readonly #ledger: Ledger;
  readonly #hooks: ReporterHooks;
  readonly #arrived = new Wakeup();
  /** Not triggered by new reports: they are no reason to retry while the database refuses. */
  readonly #retry = new Wakeup();
  /** Consecutive batches that could not be sent completely. */
  #failures = 0;
  /** Consecutive refusals of outcomes by the server itself, for a reason that may pass. */
  #refusals = 0;
  #bisection: Bisection = newBisection();
  #isSending = false;
  /** The longest wait before a report that could not be taken is sent again. */
  #maxWaitMs = Infinity;

  constructor(worker: Omit<RegisteredWorker, 'lease'>, ledger: Ledger, hooks: ReporterHooks) {
    this.#worker = worker;
    this.#ledger = ledger;
    this.#hooks = hooks;
  }

  /** True while the database takes no reports; then start nothing new. */
  get isStuck(): boolean {
    return this.#failures > 0;
  }

  /** The types whose outcomes the database refuses one by one; claim none of their tasks. */
  get refusedTypes(): ReadonlySet<string> {
    return this.#ledger.typesSentAlone(MAX_ALONE_PER_TYPE);
  }

  /** True while a statement has no answer. */
  get isSending(): boolean {
    return this.#isSending;
  }

  /** There is a new report. */
  wake(): void {
    this.#arrived.trigger();
  }

  /** The database answers again: retry failed reports at once. */
  retry(): void {
    if (this.#failures > 0) this.#retry.trigger();
  }

  /** The worker is ending: send every report now, and again every second until it is taken. */
  expedite(): void {
    this.#maxWaitMs = MAX_BUSY_WAIT_MS;
    this.#ledger.expedite(performance.now());
    this.retry();
    this.wake();
  }

  /** Report until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const batch = this.#takeBatch();
      if (batch.length === 0) {
        const waitMs = this.#ledger.nextReportAt - performance.now();
        await this.#arrived.wait(Math.max(1, Math.min(60_000, waitMs)), signal);
      } else if (!(await this.#send(batch, signal))) {
        await this.#retry.wait(backingOffMs(this.#failures, Math.random()), signal);
      }
    }
  }

  #takeBatch(): HeldTask[] {
    let count = 0;
    let alone = 0;
    let length = 0;
    return this.#ledger.takeReports(performance.now(), ({ outcome, delivery }) => {
      if (count >= MAX_BATCH || length >= MAX_BATCH_LENGTH) return false;
      if (delivery?.isAlone && ++alone > MAX_ALONE_PER_BATCH) return false;
      count += 1;
      if (outcome !== null) length += lengthOf(outcome);
      return true;
    });
  }

  /** False: the database could not take all of it now; the rest waits again. */
  async #send(batch: readonly HeldTask[], signal: AbortSignal): Promise<boolean> {
    const outcomes = batch.filter(isEnded);
    const released = outcomes.length === batch.length ? [] : batch.filter((held) => !isEnded(held));
    this.#isSending = true;
    const isTaken = await Promise.all([
      this.#tried(outcomes, () => this.#record(outcomes, signal)),
      this.#tried(released, () => this.#giveBack(released)),
    ]);
    this.#isSending = false;
    this.#failures = isTaken.every(Boolean) ? 0 : this.#failures + 1;
    this.#hooks.onSent();
    return this.#failures === 0;
  }

  async #tried(batch: readonly HeldTask[], send: () => Promise<void>): Promise<boolean> {
    if (batch.length === 0) return true;
    try {
      await send();
      return true;
    } catch (error) {
      this.#hooks.onStatementFailed(error);
      this.#ledger.requeue(batch);
      return false;
    }
  }

  async #record(batch: readonly EndedTask[], signal: AbortSignal): Promise<void> {
    this.#bisection = newBisection(signal);
    // Separate them now: the bisection below sets more aside, for later.
    const alone = batch.filter(isAlone);
    const together = alone.length === 0 ? batch : batch.filter((held) => !isAlone(held));
    try {
      await this.#settle(together);
      for (const held of alone) await this.#settle([held]);
      this.#refusals = 0;
    } catch (error) {
      this.#refusals = isAnswered(error) ? this.#refusals + 1 : 0;
      throw error;
    }
  }

  /** Record outcomes, and find one that cannot be stored by halving, so that it delays no other. */
  async #settle(batch: readonly EndedTask[]): Promise<void> {
    if (batch.length === 0) return;
    const { db, workerId } = this.#worker;
    try {
      this.#applyAnswers(batch, await settle(db, workerId, batch));
    } catch (error) {
      if (!isUndone(error)) this.#ledger.mayBeRecorded(batch);
      const refusal = await this.#classify(batch, error);
      if (refusal === 'transient') throw error;
      if (batch.length === 1) {
        await this.#handleRefusal(batch[0]!, refusal, error);
        return;
      }
      const half = Math.ceil(batch.length / 2);
      await this.#settle(batch.slice(0, half));
      await this.#settle(batch.slice(half));
    }
  }

  async #handleRefusal(held: EndedTask, refusal: RowRefusal, error: unknown): Promise<void> {
    switch (refusal) {
      case 'data':
        return this.#settleWithoutData(held, error);
      case 'no partition':
        return this.#retryLater(held, MAX_UNPLACED_WAIT_MS);
      case 'one row': {
        const conflicts = (held.delivery?.conflicts ?? 0) + (isConflict(error) ? 1 : 0);
        if (conflicts > MAX_CONFLICTS) return this.#settleWithoutData(held, error);
        this.#hooks.onStatementFailed(error);
        return this.#retryLater(held, MAX_ALONE_WAIT_MS, { isAlone: true, conflicts });
      }
      default:
        refusal satisfies never;
    }
  }

  /** No task is to blame if the server refuses an empty batch too, or if a missing partition can be made. */
  async #classify(batch: readonly EndedTask[], error: unknown): Promise<'transient' | RowRefusal> {
    const refusal = classifyRefusal(error);
    if (refusal === 'unclear') {
      await this.#settleNothing();
      return 'data';
    }
    if (refusal === 'transient') return (await this.#isOneRowToBlame(batch, error)) ? 'one row' : 'transient';
    if (refusal === 'data' || this.#bisection.lacksPartition) return refusal;
    if (await this.#makePartitions()) return 'transient';
    this.#bisection.lacksPartition = true;
    this.#hooks.onStatementFailed(error);
    return refusal;
  }

  /**
   * Whether a single row may have caused a refusal that reports trouble or a conflict: a trigger of the application may
   * raise any SQLSTATE. True if the server keeps refusing the batch but takes an empty one.
   */
  async #isOneRowToBlame(batch: readonly EndedTask[], error: unknown): Promise<boolean> {
    const bisection = this.#bisection;
    const isKnown = batch.length === 1 && isAlone(batch[0]!);
    if (!isAnswered(error) || (this.#refusals < REFUSALS_BEFORE_BISECTION && !isKnown)) return false;
    bisection.refusals += 1;
    if (bisection.refusals > MAX_REFUSALS_IN_BISECTION || bisection.signal?.aborted) return false;
    if (!bisection.serverAnswers) await this.#settleNothing();
    bisection.serverAnswers = true;
    return true;
  }

  #settleNothing(): Promise<void> {
    return settleNothing(this.#worker.db, this.#worker.workerId);
  }

  async #makePartitions(): Promise<boolean> {
    try {
      return (await ensurePartitions(this.#worker.db)) > 0;
    } catch (error) {
      if (!isServerError(error)) throw error;
      this.#hooks.onStatementFailed(error);
      return false;
    }
  }

  /**
   * Store a replacement outcome, which reads none of the task's settings. If even that cannot be stored, something else
   * blocks the row, for example a constraint of the application: then let the task go, so that no other outcome waits
   * for it.
   */
  async #settleWithoutData(held: EndedTask, error: unknown): Promise<void> {
    if (held.delivery?.refusal !== undefined) {
      this.#hooks.onRefused(held, error);
      if (this.#ledger.settled(held)) this.#hooks.onSettled(held, { answer: 'lost', consequence: null });
      return;
    }
    this.#ledger.replaceOutcome(held, notStored(error), error);
    await this.#settle([held]);
  }

  #applyAnswers(batch: readonly EndedTask[], answers: readonly SettleAnswer[]): void {
    this.#bisection.refusals = 0;
    for (let index = 0; index < batch.length; index++) {
      const held = batch[index]!;
      const answer = answers[index]!;
      if (answer.answer === 'busy') this.#retryLocked(held);
      else if (this.#ledger.settled(held)) this.#finish(held, answer);
    }
  }

  #finish(held: EndedTask, answer: SettleAnswer): void {
    const { delivery } = held;
    const isRepeat = answer.answer === 'lost' && delivery?.isRepeat === true;
    this.#hooks.onSettled(held, isRepeat ? { ...answer, answer: 'already' } : answer);
    if (delivery?.refusal !== undefined && (isRepeat || answer.answer !== 'lost'))
      this.#hooks.onNotStored(held, delivery.refusal);
  }

  /** A refusal by the server delays only these tasks. */
  async #giveBack(batch: readonly HeldTask[]): Promise<void> {
    const { db, workerId } = this.#worker;
    const asked = batch.map(({ id, leaseNo, attempt }) => ({ id, leaseNo, started: attempt !== undefined }));
    let answers: readonly GiveBackAnswer[];
    try {
      answers = await giveBack(db, workerId, asked);
    } catch (error) {
      if (!isAnswered(error)) throw error;
      this.#hooks.onStatementFailed(error);
      for (const held of batch) this.#retryLater(held, MAX_BUSY_WAIT_MS);
      return;
    }
    const refused = answers.find(({ refusal }) => refusal !== null);
    if (refused !== undefined) this.#hooks.onStatementFailed(new Error(refused.refusal!));
    const busy = new Map<string, string | null>(
      answers.flatMap((one) => (one.answer === 'busy' ? [[leaseKey(one), one.refusal] as const] : [])),
    );
    for (const held of batch) {
      const refusal = busy.get(leaseKey(held));
      if (refusal === null) this.#retryLocked(held);
      else if (refusal !== undefined) this.#retryLater(held, MAX_BUSY_WAIT_MS);
      else if (this.#ledger.givenBack(held)) this.#hooks.onGivenBack(held);
    }
  }

  #retryLocked(held: HeldTask): void {
    this.#retryLater(held, MAX_BUSY_WAIT_MS, { isAlone: isAlone(held), isLocked: true });
  }

  #retryLater(
    held: HeldTask,
    mostMs: number,
    again: Pick<Delivery, 'isAlone'> & Partial<Pick<Delivery, 'isLocked' | 'conflicts'>> = {
      isAlone: isAlone(held),
    },
  ): void {
    const waitMs = Math.min(mostMs, this.#maxWaitMs, 2 * (held.delivery?.waitMs || 25));
    this.#ledger.retryLater(held, { waitMs, notBefore: performance.now() + waitMs, ...again });
  }
}

/** The state of one attempt to send outcomes. */
interface Bisection {
  /** Some rows need a partition that cannot be made now. */
  lacksPartition: boolean;
  /** The server takes an empty batch. */
  serverAnswers: boolean;
  /** Consecutive refusals that report trouble. */
  refusals: number;
  /** Aborted when no time is left for halving. */
  readonly signal: AbortSignal | undefined;
}

function newBisection(signal?: AbortSignal): Bisection {
  return { lacksPartition: false, serverAnswers: false, refusals: 0, signal };
}

function isEnded(held: HeldTask): held is EndedTask {
  return held.outcome !== null;
}

function isAlone({ delivery }: HeldTask): boolean {
  return delivery?.isAlone === true;
}

function isAnswered(error: unknown): boolean {
  return isServerError(error) && !isUnanswered(error);
}

function lengthOf(outcome: Outcome): number {
  return ('result' in outcome && outcome.result?.length) || 0;
}

/** The outcome of a task whose own outcome the database refuses, with the server's error. */
function notStored(error: unknown): Outcome {
  const code = isServerError(error) ? (error.code ?? null) : null;
  return outcomeOf({ kind: 'notStored', refusal: describeRefusal(error), code });
}

/** Format a server's refusal: its message and SQLSTATE. */
export function describeRefusal(error: unknown): string {
  const state = isServerError(error) && error.code !== undefined ? ` (SQLSTATE ${error.code})` : '';
  return `${messageOf(error)}${state}`;
}
