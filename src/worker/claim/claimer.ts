import type { ClaimForm } from '../../domain/claim-form.ts';
import type { ClaimedTask } from '../../domain/task.ts';
import { isUndone } from '../../lib/server-trouble.ts';
import { type Claimed, claim, type RefusedClaim, type Room } from '../../queue/protocol/claim.ts';
import { LATE_COMMIT_MS, statementDeadlineMs } from '../lease/lease-length.ts';
import type { Ledger, Reservation } from '../lease/ledger.ts';
import type { ClaimCursor } from './claim-cursor.ts';
import { isNone, NO_ROOM } from './claim-room.ts';
import type { ClaimingWorker } from './claiming-worker.ts';
import type { PromisedClaim } from './promised-claim.ts';
import type { Sweeper } from './sweeper.ts';

/** Where a claimer puts what its claims bring. */
export interface ClaimerHost {
  readonly form: ClaimForm;
  onClaimed(reservation: Reservation, tasks: readonly ClaimedTask[]): void;
  /** The database refuses to lease this task. */
  onRefused(task: RefusedClaim): void;
}

export interface ClaimerOptions {
  readonly worker: ClaimingWorker;
  readonly ledger: Ledger;
  readonly cursor: ClaimCursor;
  readonly sweeper: Sweeper;
  readonly promised: PromisedClaim;
  readonly host: ClaimerHost;
}

/** A claim that finds the limit of a queue locked is repeated after this; then after up to 16 times as long. */
const SOON_MS = 5;

/** Claims tasks, each time under a reservation in the ledger. */
export class Claimer {
  readonly #options: ClaimerOptions;
  /** The last claim was refused, perhaps because of one row. */
  #oneByOne = false;
  /** What the last claim found out about queues with limits. */
  #opensInMs: number | null = null;
  #isFull = false;
  #waitsForPlaces = false;
  #wantsSlot = false;
  #sweepInMs: number | null = null;
  /** How many claims in a row brought nothing because another claim had the limit locked. */
  #outrun = 0;

  constructor(options: ClaimerOptions) {
    this.#options = options;
  }

  /** How many milliseconds after the last claim a limited queue opens again; null: none opens by itself. */
  get opensInMs(): number | null {
    return this.#opensInMs === null
      ? null
      : this.#opensInMs * 2 ** Math.min(4, Math.max(0, this.#outrun - 1));
  }

  /** The last claim found a queue with a limit full. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Only full queues have tasks: until an outcome in flight frees a place, another claim would find nothing. */
  get waitsForPlaces(): boolean {
    return this.#waitsForPlaces;
  }

  /** How many milliseconds after the last claim the sweep is due that it was too early for; null: it was not. */
  get sweepInMs(): number | null {
    return this.#sweepInMs;
  }

  /** A task waits for a slot of this worker: `roomOf` claims nothing ahead. */
  get wantsSlot(): boolean {
    return this.#wantsSlot;
  }

  /** The room for the next claim: tasks claimed ahead would take each slot before a task that wants one. */
  roomOf(room: Room): Room {
    return this.#wantsSlot ? { start: room.start, ahead: 0 } : room;
  }

  /** Claim once from these queues, again while groups ask and get no task. Returns how many tasks it brought. */
  async claim(room: Room, queues: readonly string[], stop: AbortSignal): Promise<number> {
    this.#sweepInMs = null;
    if (queues.length === 0) {
      if (this.#options.promised.isOwed) await this.attend(queues);
      return this.#without();
    }
    // A task that wants a slot gets the next one.
    if (isNone(room) || stop.aborted) return 0;
    const { worker, ledger, sweeper } = this.#options;
    await sweeper.look(queues, stop);
    if (stop.aborted) return 0;
    const reservation = ledger.reserve(room.start + room.ahead);
    if (reservation === undefined) return 0;
    const { tasks, looked } = await worker.lease.during((leaseMs) =>
      this.#claim(reservation, room, queues, leaseMs),
    );
    return tasks.length === 0 && looked !== null && looked.asksLeft.size > 0
      ? this.claim(room, queues, stop)
      : tasks.length;
  }

  /** Claim no task, but attend to workflows, as promised: others are woken for the steps that start. */
  async attend(queues: readonly string[]): Promise<void> {
    const { worker, cursor, promised } = this.#options;
    const { db, workerId, types } = worker;
    const look = cursor.next(performance.now(), queues, true);
    promised.paid();
    try {
      await claim(db, {
        worker: { id: workerId, types, leaseMs: worker.lease.ms },
        queues,
        room: NO_ROOM,
        from: look,
      });
    } catch (error) {
      promised.unpaid();
      throw error;
    }
  }

  /** This was no claim: forget what the one before found, which is no reason to claim again at once. */
  #without(): 0 {
    this.#wantsSlot = false;
    this.#isFull = false;
    this.#waitsForPlaces = false;
    this.#opensInMs = null;
    return 0;
  }

  async #claim(
    reservation: Reservation,
    room: Room,
    queues: readonly string[],
    leaseMs: number,
  ): Promise<Claimed> {
    const { worker, ledger, cursor, promised, host } = this.#options;
    const { db, workerId, types } = worker;
    const began = performance.now();
    const { isOwed } = promised;
    const look = cursor.next(began, queues, isOwed);
    const request = {
      worker: { id: workerId, types, leaseMs },
      queues: cursor.inTurn(queues, this.#wantsSlot ? 'same' : 'next'),
      room,
      from: look,
      how: { form: host.form, oneByOne: this.#oneByOne, deadlineMs: statementDeadlineMs(leaseMs) },
    };
    let claimed: Claimed;
    promised.paid();
    try {
      claimed = await claim(db, request);
      this.#oneByOne = false;
    } catch (error) {
      if (isOwed) promised.unpaid();
      this.#without();
      const now = performance.now();
      cursor.failed(look, now - began, now);
      this.#oneByOne = isUndone(error);
      if (isUndone(error)) ledger.claimRefused(reservation);
      else ledger.claimLost(reservation, now + worker.lease.longestMs + LATE_COMMIT_MS);
      throw error;
    }
    const { tasks, looked } = claimed;
    this.#opensInMs = looked?.opensInMs ?? null;
    this.#isFull = looked?.isFull ?? false;
    if (tasks.length === 0) this.#waitsForPlaces = this.#isFull;
    else if (this.#isFull) this.#waitsForPlaces = false;
    this.#wantsSlot = looked?.wantsSlot ?? false;
    const isOutrun = tasks.length === 0 && this.#opensInMs !== null && this.#opensInMs <= SOON_MS;
    this.#outrun = isOutrun ? this.#outrun + 1 : 0;
    const now = performance.now();
    if (!claimed.isProbe)
      cursor.claimed({ ...claimed, look, short: tasks.length < reservation.size, costMs: now - began }, now);
    this.#sweepInMs = cursor.owedSweepInMs(now);
    host.onClaimed(reservation, tasks);
    for (const task of claimed.refused) host.onRefused(task);
    return claimed;
  }
}
