import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../lib/database.ts';
import { giveBack } from '../queue/give-back.ts';
import type { HeldTask } from './attempt.ts';

interface Returned {
  readonly held: HeldTask;
  readonly started: boolean;
}

/**
 * Gives tasks back to the queue, one statement at a time: who has waited for a flush knows that nothing which was added
 * before is still under way.
 */
export class Returner {
  readonly #db: Queryable;
  readonly #workerId: number;
  readonly #onReturned: (held: HeldTask, started: boolean) => void;
  #waiting: Returned[] = [];
  #lastFlush: Promise<void> = Promise.resolve();

  constructor(db: Queryable, workerId: number, onReturned: (held: HeldTask, started: boolean) => void) {
    this.#db = db;
    this.#workerId = workerId;
    this.#onReturned = onReturned;
  }

  add(held: HeldTask, started: boolean): void {
    this.#waiting.push({ held, started });
  }

  /**
   * Give back what has gathered. What another transaction has locked, and what the database does not answer for, is
   * asked for again after 50 ms, doubling to 1 s, for `patienceMs`; then it stays for the next flush. Throws what the
   * database said last.
   */
  flush(patienceMs: number): Promise<void> {
    const until = performance.now() + patienceMs;
    const flushed = this.#lastFlush.then(() => this.#flush(until));
    this.#lastFlush = flushed.catch(() => {});
    return flushed;
  }

  async #flush(until: number): Promise<void> {
    for (let pauseMs = 50; this.#waiting.length > 0; pauseMs = Math.min(1000, 2 * pauseMs)) {
      const isLast = performance.now() + pauseMs > until;
      try {
        await this.#giveBack();
      } catch (error) {
        if (isLast) throw error;
      }
      if (isLast || this.#waiting.length === 0) break;
      await sleep(pauseMs);
    }
  }

  async #giveBack(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    const asked = batch.map(({ held, started }) => ({ ...held.task, started }));
    let left: ReadonlySet<string> = new Set(asked.map(({ id }) => id));
    try {
      const answers = await giveBack(this.#db, this.#workerId, asked);
      left = new Set(answers.filter(({ answer }) => answer === 'busy').map(({ id }) => id));
    } finally {
      for (const returned of batch) {
        if (left.has(returned.held.task.id)) this.#waiting.push(returned);
        else this.#onReturned(returned.held, returned.started);
      }
    }
  }
}
