import type { Queryable } from '../lib/database.ts';
import type { HeldTask } from './attempt.ts';
import { giveBackAll } from './give-back-all.ts';

interface Returned {
  readonly held: HeldTask;
  readonly started: boolean;
}

/** Gives tasks back to the queue; what cannot be given back now is tried again with the next. */
export class Returner {
  readonly #db: Queryable;
  readonly #onReturned: (held: HeldTask, started: boolean) => void;
  #waiting: Returned[] = [];

  constructor(db: Queryable, onReturned: (held: HeldTask, started: boolean) => void) {
    this.#db = db;
    this.#onReturned = onReturned;
  }

  get pending(): number {
    return this.#waiting.length;
  }

  add(held: HeldTask, started: boolean): void {
    this.#waiting.push({ held, started });
  }

  /** Give back what has gathered. What another transaction keeps locked for `patienceMs` stays. */
  async flush(patienceMs: number): Promise<void> {
    const batch = this.#waiting;
    if (batch.length === 0) return;
    this.#waiting = [];
    let left: ReadonlySet<string> = new Set(batch.map(({ held }) => held.task.id));
    try {
      const tasks = batch.map(({ held, started }) => ({ ...held.task, started }));
      left = new Set((await giveBackAll(this.#db, tasks, patienceMs)).map(({ id }) => id));
    } finally {
      for (const returned of batch) {
        if (left.has(returned.held.task.id)) this.#waiting.push(returned);
        else this.#onReturned(returned.held, returned.started);
      }
    }
  }
}
