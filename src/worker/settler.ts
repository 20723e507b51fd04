import type { Outcome } from '../domain/outcome.ts';
import { shortText } from '../domain/storable.ts';
import { messageOf } from '../domain/thrown.ts';
import { backingOffMs } from '../lib/backing-off.ts';
import { Bell } from '../lib/bell.ts';
import { isServerError, isUndone, type Queryable } from '../lib/database.ts';
import { ensurePartitions } from '../queue/maintain.ts';
import { type SettleAnswer, type Settlement, settle, settleNothing } from '../queue/settle.ts';
import type { HeldTask } from './attempt.ts';
import { judgeRefusal } from './judge-refusal.ts';

/** An outcome on its way into the database. */
interface Waiting {
  readonly held: HeldTask;
  /** What is to be recorded: once the database has refused the outcome itself, that it did. */
  settlement: Settlement;
  /** Why the outcome itself was refused. */
  refusal?: unknown;
  /** Sent before, and the answer never came: a repeat that is `lost` is no loss. */
  repeated: boolean;
  answered: boolean;
  busyMs: number;
  notBefore: number;
}

export interface SettlerHooks {
  /** The outcome has its answer; nothing is to be done about it any more. */
  readonly onAnswer: (held: HeldTask, settlement: Settlement, answer: SettleAnswer) => void;
  /** The database refused the data of this outcome and has stored that instead. */
  readonly onNotStored: (settlement: Settlement, error: unknown) => void;
  /** The database refuses that as well; the task is left to its lease. */
  readonly onRefused: (settlement: Settlement, error: unknown) => void;
  /** A statement failed; it is tried again. */
  readonly onTrouble: (error: unknown) => void;
}

/** The reason of a dead letter whose outcome could not be recorded as it was. */
export const NOT_STORED = 'outcome_not_stored';

/** More in one statement gains nothing. */
const MOST_AT_ONCE = 2000;
/** Nor is a statement to be much longer than so many characters of results. */
const MOST_LENGTH = 16_000_000;

/**
 * Records outcomes in natural batches: one settle is under way at a time, and what arrives meanwhile goes together in
 * the next. Nothing is dropped: an outcome stays here until the database has answered for it.
 */
export class Settler {
  readonly #db: Queryable;
  readonly #workerId: number;
  readonly #hooks: SettlerHooks;
  readonly #arrived = new Bell();
  /** Not rung by what arrives: as long as the database refuses, that is no reason to ask it again. */
  readonly #retry = new Bell();
  #waiting: Waiting[] = [];
  #underWay = 0;
  #failures = 0;
  /** What is under way needs a partition that cannot be made now. */
  #unplaced = false;

  constructor(db: Queryable, workerId: number, hooks: SettlerHooks) {
    this.#db = db;
    this.#workerId = workerId;
    this.#hooks = hooks;
  }

  /** How many outcomes have no answer yet. */
  get pending(): number {
    return this.#waiting.length + this.#underWay;
  }

  /** True while the database takes no outcomes: then nothing new should be started. */
  get stuck(): boolean {
    return this.#failures > 0;
  }

  add(held: HeldTask, settlement: Settlement): void {
    this.#waiting.push({ held, settlement, repeated: false, answered: false, busyMs: 25, notBefore: 0 });
    this.#arrived.ring();
  }

  /** The database answers again: what failed is tried at once. */
  retry(): void {
    if (this.stuck) this.#retry.ring();
  }

  /** Settle until the signal ends it. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const batch = this.#takeBatch();
      if (batch.length === 0) {
        await this.#arrived.wait(this.#nextBusyMs(), signal);
      } else if (!(await this.#send(batch))) {
        await this.#retry.wait(backingOffMs(this.#failures, Math.random()), signal);
      }
    }
  }

  #takeBatch(): Waiting[] {
    const now = performance.now();
    const ready: Waiting[] = [];
    const later: Waiting[] = [];
    let length = 0;
    for (const waiting of this.#waiting) {
      const fits = ready.length < MOST_AT_ONCE && length < MOST_LENGTH;
      if (fits && waiting.notBefore <= now) {
        ready.push(waiting);
        length += lengthOf(waiting.settlement);
      } else {
        later.push(waiting);
      }
    }
    this.#waiting = later;
    return ready;
  }

  #nextBusyMs(): number {
    const next = Math.min(Infinity, ...this.#waiting.map(({ notBefore }) => notBefore));
    return Math.max(1, Math.min(60_000, next - performance.now()));
  }

  /** False: the database could not take it now; the batch waits again. */
  async #send(batch: Waiting[]): Promise<boolean> {
    this.#underWay = batch.length;
    this.#unplaced = false;
    for (const waiting of batch) waiting.answered = false;
    try {
      await this.#settle(batch);
      this.#askAgainWithPartition(batch.filter(({ answered }) => !answered));
      return true;
    } catch (error) {
      this.#failures += 1;
      this.#hooks.onTrouble(error);
      const unanswered = batch.filter(({ answered }) => !answered);
      if (!isUndone(error)) for (const waiting of unanswered) waiting.repeated = true;
      this.#waiting = [...unanswered, ...this.#waiting];
      return false;
    } finally {
      this.#underWay = 0;
    }
  }

  /**
   * What cannot be stored is found by halving, so that it holds up no other outcome. An outcome without an answer after
   * this finds no partition.
   */
  async #settle(batch: readonly Waiting[]): Promise<void> {
    try {
      const answers = await settle(
        this.#db,
        this.#workerId,
        batch.map(({ settlement }) => settlement),
      );
      this.#answer(batch, answers);
    } catch (error) {
      const refusal = await this.#judge(error);
      if (refusal === 'trouble') throw error;
      if (batch.length === 1) {
        if (refusal === 'data') await this.#settleWithoutData(batch[0]!, error);
        return;
      }
      const half = Math.ceil(batch.length / 2);
      await this.#settle(batch.slice(0, half));
      await this.#settle(batch.slice(half));
    }
  }

  /** What refuses an empty batch as well is no task's fault; nor is a missing partition that could be made. */
  async #judge(error: unknown): Promise<'trouble' | 'no partition' | 'data'> {
    const refusal = judgeRefusal(error);
    if (refusal === 'unclear') {
      await settleNothing(this.#db, this.#workerId);
      return 'data';
    }
    if (refusal !== 'no partition' || this.#unplaced) return refusal;
    if (await this.#makePartitions()) return 'trouble';
    this.#unplaced = true;
    this.#hooks.onTrouble(error);
    return refusal;
  }

  async #makePartitions(): Promise<boolean> {
    try {
      return (await ensurePartitions(this.#db)) > 0;
    } catch (error) {
      if (!isServerError(error)) throw error;
      this.#hooks.onTrouble(error);
      return false;
    }
  }

  /**
   * It reads nothing of the task's settings. If even that cannot be stored, something else forbids to write the row (a
   * constraint of the application's, say): then the task is let go, so that no other outcome waits for it.
   */
  async #settleWithoutData(waiting: Waiting, error: unknown): Promise<void> {
    if (waiting.refusal !== undefined) {
      this.#hooks.onRefused(waiting.settlement, error);
      waiting.repeated = false;
      this.#answer([waiting], [{ answer: 'lost', consequence: null }]);
      return;
    }
    waiting.refusal = error;
    waiting.settlement = { ...waiting.settlement, outcome: notStored(error) };
    await this.#settle([waiting]);
  }

  #answer(batch: readonly Waiting[], answers: readonly SettleAnswer[]): void {
    // Whoever is told an answer may ask at once what is still pending.
    this.#underWay -= batch.length;
    this.#failures = 0;
    batch.forEach((waiting, index) => {
      const answer = answers[index]!;
      waiting.answered = true;
      if (answer.answer === 'busy') {
        this.#askAgain(waiting);
      } else {
        const { held, settlement, repeated, refusal } = waiting;
        const isRepeat = answer.answer === 'lost' && repeated;
        this.#hooks.onAnswer(held, settlement, isRepeat ? { ...answer, answer: 'already' } : answer);
        if (refusal !== undefined && (isRepeat || answer.answer !== 'lost'))
          this.#hooks.onNotStored(settlement, refusal);
      }
    });
  }

  /** Somebody has to make the partition: these wait, and hold up nothing else. */
  #askAgainWithPartition(unplaced: readonly Waiting[]): void {
    this.#failures = 0;
    this.#underWay -= unplaced.length;
    for (const waiting of unplaced) this.#askAgain(waiting, 30_000);
  }

  /** After 50 ms, doubling to a second unless told. */
  #askAgain(waiting: Waiting, mostMs = 1000): void {
    waiting.busyMs = Math.min(mostMs, waiting.busyMs * 2);
    waiting.notBefore = performance.now() + waiting.busyMs;
    this.#waiting.push(waiting);
  }
}

function lengthOf({ outcome }: Settlement): number {
  return ('result' in outcome && outcome.result?.length) || 0;
}

/** What becomes of a task whose own outcome the database refuses, and what the database says of it. */
function notStored(error: unknown): Outcome {
  const code = isServerError(error) ? (error.code ?? null) : null;
  const message = shortText(`the database refused to record the outcome: ${sayRefusal(error)}`, 2000);
  return {
    kind: 'dead',
    reportedBy: 'worker',
    reason: NOT_STORED,
    error: { name: 'OutcomeNotStored', message, stack: null, code, cause: null },
  };
}

/** Say what the server has refused a statement with: its words, and SQLSTATE. */
export function sayRefusal(error: unknown): string {
  const state = isServerError(error) && error.code !== undefined ? ` (SQLSTATE ${error.code})` : '';
  return `${messageOf(error)}${state}`;
}
