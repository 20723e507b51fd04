import type { Outcome } from '../../domain/outcome.ts';
import type { HeldEntry } from './held-entry.ts';
import type { Delivery, HeldTask } from './held-task.ts';

/** When to send a report again, and what the failure has shown. */
export type Redelivery = Pick<Delivery, 'waitMs' | 'notBefore' | 'isAlone'> &
  Partial<Pick<Delivery, 'isLocked' | 'vainWaits' | 'conflicts'>>;

/**
 * The part of the ledger with the tasks at `reporting`: each report waits to be sent, or is sent and waits for its
 * answer.
 */
export class Reports {
  /** The reports not yet sent. */
  #waiting: HeldEntry[] = [];
  readonly #alone = new Set<HeldEntry>();
  #size = 0;
  #grouped = 0;

  /** How many tasks are at `reporting`. */
  get size(): number {
    return this.#size;
  }

  /** How many of these tasks are in a group. */
  get grouped(): number {
    return this.#grouped;
  }

  /** How many reports are sent alone, because the database has refused each by itself. */
  get sentAlone(): number {
    return this.#alone.size;
  }

  /** The types with more than `most` reports that are sent alone. */
  typesSentAlone(most: number): ReadonlySet<string> {
    const types = new Set<string>();
    if (this.sentAlone <= most) return types;
    const counts = new Map<string, number>();
    for (const { task } of this.#alone) {
      const count = (counts.get(task.type) ?? 0) + 1;
      counts.set(task.type, count);
      if (count > most) types.add(task.type);
    }
    return types;
  }

  /** When the next report may be sent (`performance.now()`). */
  get nextAt(): number {
    let next = Infinity;
    for (const { delivery } of this.#waiting) next = Math.min(next, delivery?.notBefore ?? 0);
    return next;
  }

  /** A task has ended or was released. Called by the ledger alone. */
  add(entry: HeldEntry): void {
    entry.state = 'reporting';
    this.#size += 1;
    if (entry.task.groupKey !== null) this.#grouped += 1;
    this.#waiting.push(entry);
  }

  /** Take the first reports that may be sent now and fit. */
  take(now: number, fits: (held: HeldTask) => boolean): HeldTask[] {
    const taken: HeldEntry[] = [];
    const left: HeldEntry[] = [];
    for (const entry of this.#waiting) {
      const isReady = entry.delivery === undefined || entry.delivery.notBefore <= now;
      if (isReady && fits(entry)) {
        entry.isSent = true;
        taken.push(entry);
      } else left.push(entry);
    }
    this.#waiting = left;
    return taken;
  }

  /** Resend waiting reports at `at` (`performance.now()`) at the latest. */
  expedite(at: number): void {
    for (const entry of this.#waiting) {
      const { delivery } = entry;
      if (delivery !== undefined && delivery.notBefore > at) entry.delivery = { ...delivery, notBefore: at };
    }
  }

  /** Replace an outcome that the database refuses to store. */
  replaceOutcome(held: HeldTask, outcome: Outcome, refusal: unknown): boolean {
    const entry = held as HeldEntry;
    if (!entry.isSent) return false;
    entry.outcome = outcome;
    entry.delivery = { ...(entry.delivery ?? FIRST), refusal };
    return true;
  }

  /** The statement with these reports got no answer: the database may have taken them. */
  mayBeRecorded(sent: readonly HeldTask[]): void {
    for (const entry of sent as readonly HeldEntry[]) {
      if (entry.isSent) entry.delivery = { ...(entry.delivery ?? FIRST), isRepeat: true };
    }
  }

  /** These reports were not taken, as far as is known: send them again, before others. */
  requeue(sent: readonly HeldTask[]): void {
    const back = (sent as readonly HeldEntry[]).filter(({ isSent }) => isSent);
    for (const entry of back) entry.isSent = false;
    this.#waiting = [...back, ...this.#waiting];
  }

  /** This one report could not be taken: send it again later. */
  retryLater(held: HeldTask, again: Redelivery): boolean {
    const entry = held as HeldEntry;
    if (!entry.isSent) return false;
    entry.isSent = false;
    if (again.isAlone) this.#alone.add(entry);
    entry.delivery = { ...(entry.delivery ?? FIRST), isLocked: false, ...again };
    this.#waiting.push(entry);
    return true;
  }

  /** The database has answered a report. False: it was not sent, or was answered before. Called by the ledger alone. */
  answered(entry: HeldEntry): boolean {
    if (!entry.isSent) return false;
    entry.isSent = false;
    this.#size -= 1;
    if (entry.task.groupKey !== null) this.#grouped -= 1;
    if (entry.delivery?.isAlone) this.#alone.delete(entry);
    return true;
  }
}

/** The delivery of a report before anything has failed. */
const FIRST: Delivery = {
  isRepeat: false,
  isAlone: false,
  isLocked: false,
  vainWaits: 0,
  conflicts: 0,
  waitMs: 0,
  notBefore: 0,
  refusal: undefined,
};
