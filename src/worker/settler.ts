import type { Outcome } from '../domain/outcome.ts';
import { backingOffMs } from '../lib/backing-off.ts';
import { Bell } from '../lib/bell.ts';
import { isServerError, isUndone, type Queryable } from '../lib/database.ts';
import { ensurePartitions } from '../queue/maintain.ts';
import { type SettleAnswer, type Settlement, settle } from '../queue/settle.ts';
import type { HeldTask } from './attempt.ts';

/** An outcome on its way into the database. */
interface Waiting {
  readonly held: HeldTask;
  readonly settlement: Settlement;
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
    for (const waiting of batch) waiting.answered = false;
    try {
      await this.#settle(batch);
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

  /** Data that cannot be stored is found by halving, so that it holds up nobody else's outcome. */
  async #settle(batch: readonly Waiting[]): Promise<void> {
    try {
      const answers = await settle(
        this.#db,
        this.#workerId,
        batch.map(({ settlement }) => settlement),
      );
      this.#answer(batch, answers);
    } catch (error) {
      if (isMissingPartition(error)) {
        await ensurePartitions(this.#db);
        throw error;
      }
      if (!isDataError(error)) throw error;
      if (batch.length === 1) return this.#settleWithoutData(batch[0]!, error);
      const half = Math.ceil(batch.length / 2);
      await this.#settle(batch.slice(0, half));
      await this.#settle(batch.slice(half));
    }
  }

  /**
   * It reads nothing of the task's settings. If even that cannot be stored, something else forbids to write the row (a
   * constraint of the application's, say): then the task is let go, so that nobody else's outcome waits for it.
   */
  async #settleWithoutData(waiting: Waiting, error: unknown): Promise<void> {
    const { settlement } = waiting;
    const outcome: Outcome = {
      kind: 'dead',
      reportedBy: 'worker',
      reason: NOT_STORED,
      error: {
        name: 'OutcomeNotStored',
        message: 'the database refused its data',
        stack: null,
        code: codeOf(error),
        cause: null,
      },
    };
    try {
      const answers = await settle(this.#db, this.#workerId, [{ ...settlement, outcome }]);
      this.#answer([waiting], answers);
      this.#hooks.onNotStored(settlement, error);
    } catch (refusal) {
      if (!isDataError(refusal) || isMissingPartition(refusal)) throw refusal;
      this.#hooks.onRefused(settlement, refusal);
      this.#answer([waiting], [{ answer: 'lost', consequence: null }]);
    }
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
        const { held, settlement, repeated } = waiting;
        const isRepeat = answer.answer === 'lost' && repeated;
        this.#hooks.onAnswer(held, settlement, isRepeat ? { ...answer, answer: 'already' } : answer);
      }
    });
  }

  /** After 50 ms, doubling to 1 s. */
  #askAgain(waiting: Waiting): void {
    waiting.busyMs = Math.min(1000, waiting.busyMs * 2);
    waiting.notBefore = performance.now() + waiting.busyMs;
    this.#waiting.push(waiting);
  }
}

function lengthOf({ outcome }: Settlement): number {
  return ('result' in outcome && outcome.result?.length) || 0;
}

/** 23514 with no constraint's name: no partition of history for the row. */
function isMissingPartition(error: unknown): boolean {
  return isServerError(error) && error.code === '23514' && error.constraint === undefined;
}

/** Some task or the data of its outcome is to blame: class 22 (bad value), 23 (constraint), P0 (somebody's trigger). */
function isDataError(error: unknown): boolean {
  return isServerError(error) && /^(2[23]|P0)/.test(error.code ?? '');
}

function codeOf(error: unknown): string | null {
  return isServerError(error) ? (error.code ?? null) : null;
}
