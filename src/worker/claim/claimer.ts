import type { ClaimForm } from '../../domain/claim-form.ts';
import type { ClaimedTask } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';
import { isUndone } from '../../lib/server-trouble.ts';
import { type Claimed, claim, type RefusedClaim, type Room } from '../../queue/protocol/claim.ts';
import { LATE_COMMIT_MS, statementDeadlineMs } from '../lease/lease-length.ts';
import type { Ledger, Reservation } from '../lease/ledger.ts';
import type { ClaimCursor, Look } from './claim-cursor.ts';
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

/** What a claim found out, which decides when the next one is made, and how. */
export interface Findings {
  /** Milliseconds after the claim until a limited queue opens again; null: none opens by itself. */
  readonly opensInMs: number | null;
  /** A queue with a limit is full. */
  readonly isFull: boolean;
  /** Only full queues have tasks: until an outcome in flight frees a place, another claim would find nothing. */
  readonly waitsForPlaces: boolean;
  /** A task waits for a slot of this worker: claim nothing ahead. */
  readonly wantsSlot: boolean;
  /** Milliseconds after the claim until the sweep is due that it was too early for; null: it was not. */
  readonly sweepInMs: number | null;
}

export const NO_FINDINGS: Findings = {
  opensInMs: null,
  isFull: false,
  waitsForPlaces: false,
  wantsSlot: false,
  sweepInMs: null,
};

/** Claims tasks, each time under a reservation in the ledger. */
export class Claimer {
  readonly #options: ClaimerOptions;
  #found = NO_FINDINGS;
  /** The last claim was refused, perhaps because of one row. */
  #oneByOne = false;
  /** How many claims in a row brought nothing because another claim had the limit locked. */
  #outrun = 0;

  constructor(options: ClaimerOptions) {
    this.#options = options;
  }

  /** What the last claim found. */
  get found(): Findings {
    return this.#found;
  }

  /** The room for the next claim: tasks claimed ahead would take each slot before a task that wants one. */
  roomOf(room: Room): Room {
    return this.#found.wantsSlot ? { start: room.start, ahead: 0 } : room;
  }

  /** Claim once from these queues, again while groups ask and get no task. Returns how many tasks it brought. */
  async claim(room: Room, queues: readonly string[], options: ClaimOptions): Promise<number> {
    if (queues.length === 0) {
      if (this.#options.promised.isOwed) await this.attend(queues);
      // What the claim before found is no reason to claim again at once.
      this.#found = NO_FINDINGS;
      return 0;
    }
    for (;;) {
      const claimed = await this.#claimOnce(room, queues, options);
      if (claimed === undefined) return 0;
      const { tasks, looked } = claimed;
      if (tasks.length > 0 || looked === null || looked.asksLeft.size === 0) return tasks.length;
    }
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

  /** Undefined: there is no room for a claim, or the worker stops. */
  async #claimOnce(
    room: Room,
    queues: readonly string[],
    { stop, isFollowing }: ClaimOptions,
  ): Promise<Claimed | undefined> {
    // Without a claim the rest stays: a task that wants a slot gets the next one.
    this.#found = { ...this.#found, sweepInMs: null };
    if (isNone(room) || stop.aborted) return undefined;
    const { worker, ledger, sweeper } = this.#options;
    await sweeper.look(queues, stop);
    if (stop.aborted) return undefined;
    const reservation = ledger.reserve(room.start + room.ahead);
    if (reservation === undefined) return undefined;
    const db = isFollowing ? worker.pipeline : worker.db;
    return worker.lease.during((leaseMs) => this.#claim(db, { reservation, room, queues, leaseMs }));
  }

  async #claim(db: Queryable, { reservation, room, queues, leaseMs }: Reserved): Promise<Claimed> {
    const { worker, cursor, promised, host } = this.#options;
    const { workerId, types } = worker;
    const { isOwed } = promised;
    const began = performance.now();
    const look = cursor.next(began, queues, isOwed);
    const request = {
      worker: { id: workerId, types, leaseMs },
      queues: cursor.inTurn(queues, this.#found.wantsSlot ? 'same' : 'next'),
      room,
      from: look,
      how: { form: host.form, oneByOne: this.#oneByOne, deadlineMs: statementDeadlineMs(leaseMs) },
    };
    promised.paid();
    let claimed: Claimed;
    try {
      claimed = await claim(db, request);
    } catch (error) {
      if (isOwed) promised.unpaid();
      this.#failed(error, { reservation, look, began });
      throw error;
    }
    this.#answered(claimed, { reservation, look, began });
    return claimed;
  }

  #failed(error: unknown, { reservation, look, began }: ClaimInFlight): void {
    const { worker, ledger, cursor } = this.#options;
    const now = performance.now();
    cursor.failed(look, now - began, now);
    this.#found = NO_FINDINGS;
    this.#oneByOne = isUndone(error);
    if (isUndone(error)) ledger.claimRefused(reservation);
    else ledger.claimLost(reservation, now + worker.lease.longestMs + LATE_COMMIT_MS);
  }

  #answered(claimed: Claimed, { reservation, look, began }: ClaimInFlight): void {
    const { cursor, host } = this.#options;
    const { tasks, isProbe } = claimed;
    const now = performance.now();
    this.#oneByOne = false;
    if (!isProbe)
      cursor.claimed({ ...claimed, look, short: tasks.length < reservation.size, costMs: now - began }, now);
    this.#found = this.#findingsOf(claimed, cursor.owedSweepInMs(now));
    host.onClaimed(reservation, tasks);
    for (const task of claimed.refused) host.onRefused(task);
  }

  #findingsOf({ tasks, looked }: Claimed, sweepInMs: number | null): Findings {
    const isFull = looked?.isFull ?? false;
    const opensInMs = looked?.opensInMs ?? null;
    const isOutrun = tasks.length === 0 && opensInMs !== null && opensInMs <= SOON_MS;
    this.#outrun = isOutrun ? this.#outrun + 1 : 0;
    return {
      opensInMs: opensInMs === null ? null : opensInMs * 2 ** Math.min(4, Math.max(0, this.#outrun - 1)),
      isFull,
      // If a claim brings tasks and finds no queue full, others may still be.
      waitsForPlaces: tasks.length === 0 ? isFull : this.#found.waitsForPlaces && !isFull,
      wantsSlot: looked?.wantsSlot ?? false,
      sweepInMs,
    };
  }
}

/** Until when to claim, and on which connection. */
export interface ClaimOptions {
  readonly stop: AbortSignal;
  /** Send the claim behind the outcomes that are on their way: it finds what they free. */
  readonly isFollowing: boolean;
}

/** A claim that is about to be sent. */
interface Reserved {
  readonly reservation: Reservation;
  readonly room: Room;
  readonly queues: readonly string[];
  readonly leaseMs: number;
}

/** A claim that has no answer yet. */
interface ClaimInFlight {
  readonly reservation: Reservation;
  readonly look: Look;
  readonly began: number;
}
