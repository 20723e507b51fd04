import { isServerError } from '../../lib/database.ts';
import type { Listener } from '../../lib/listener.ts';
import { describeDatabaseError } from '../../lib/server-trouble.ts';
import type { Wakeup } from '../../lib/wakeup.ts';
import { type Heartbeat, heartbeat } from '../../queue/protocol/heartbeat.ts';
import { notGranted } from '../../queue/schema/not-granted.ts';
import { type LeaseRow, type LeaseTable, processClock } from '../lease/lease-table.ts';
import type { CancelRequests } from '../watchdog/decide-unresponsive.ts';
import { cancelsAmong, newsAmong } from './heartbeat-answers.ts';
import type { FromHeartbeat, HeartbeatSetup } from './heartbeat-messages.ts';
import { heartbeatFor, LeaseChange, type LeaseLengths } from './lease-change.ts';

export interface LeaseRenewalOptions {
  readonly setup: HeartbeatSetup;
  readonly table: LeaseTable;
  /** Triggered when another heartbeat is due at once. */
  readonly wakeup: Wakeup;
  readonly send: (message: FromHeartbeat) => void;
}

/**
 * How a heartbeat went. `busy`: another transaction has locked a lease, or the worker's row while a longer lease length
 * must be recorded there; name all again soon. `refused`: the database refuses the statement, on a connection that still
 * works.
 */
export type Beat = { readonly kind: 'renewed' | 'busy' } | { readonly kind: 'refused'; readonly why: string };

/** Renews every lease of the process with each heartbeat, and reports what the answers say. */
export class LeaseRenewal {
  readonly #options: LeaseRenewalOptions;
  readonly #lengths: LeaseChange;
  #cursors: unknown;
  #lost = 0;
  #isDraining = false;
  #cancels: CancelRequests = new Map();

  constructor(options: LeaseRenewalOptions) {
    this.#options = options;
    this.#lengths = new LeaseChange(options.setup);
  }

  /** The requests to cancel held tasks. */
  get cancels(): CancelRequests {
    return this.#cancels;
  }

  /** The longest wait until the next heartbeat. */
  get heartbeatMs(): number {
    return this.#lengths.heartbeatMs;
  }

  /** The deadline of an answer of the database: a late one is useless. */
  get deadlineMs(): number {
    return Math.min(5000, this.#lengths.shortestMs / 3);
  }

  /** Send with each heartbeat how many leases were lost since the start. */
  setLost(lost: number): void {
    this.#lost = lost;
  }

  /** Store these cursors with the next heartbeat. */
  setCursors(cursors: unknown): void {
    this.#cursors = cursors;
  }

  /** Show the worker as stopping, now and in all later heartbeats. */
  drain(): void {
    this.#isDraining = true;
    this.#options.wakeup.trigger();
  }

  /** Tasks are now leased for `leaseMs`, and no statement in flight leases them for the previous length. */
  leaseSwitched(leaseMs: number): void {
    if (this.#lengths.switched(leaseMs)) this.#options.wakeup.trigger();
  }

  /** Send a heartbeat that names every lease. Throws where the connection breaks. */
  async beat(listener: Listener): Promise<Beat> {
    const rows = this.#options.table.rows();
    const lengths = this.#lengths.next;
    try {
      return this.#answered(rows, lengths, await this.#send(listener, rows, lengths));
    } catch (error) {
      if (!isServerError(error)) throw error;
      const { databaseUrl } = this.#options.setup;
      return {
        kind: 'refused',
        why: describeDatabaseError(notGranted(error, databaseUrl) ?? error, databaseUrl),
      };
    }
  }

  #send(listener: Listener, rows: readonly LeaseRow[], lengths: LeaseLengths): Promise<Heartbeat> {
    const now = processClock();
    const held = rows.map(({ id, leaseNo, startedAt }) => ({
      id,
      leaseNo,
      startedMs: startedAt === 0 ? null : Math.max(0, Math.round(now - startedAt)),
    }));
    const running = held.filter(({ startedMs }) => startedMs !== null).length;
    const timedOut = rows.filter(({ deadlineAt }) => deadlineAt > 0 && deadlineAt < now).length;
    return heartbeat(listener, {
      workerId: this.#options.setup.workerId,
      held,
      lease: lengths,
      about: {
        cursors: this.#cursors,
        counts: { running, ahead: held.length - running, timedOut, lost: this.#lost },
        ...(this.#isDraining && { stopping: true }),
      },
      deadlineMs: this.deadlineMs,
    });
  }

  #answered(
    rows: readonly LeaseRow[],
    lengths: LeaseLengths,
    { answers, orders, upcoming, operationsMs, judgedByMs = 0 }: Heartbeat,
  ): Beat {
    const { table, wakeup, send } = this.#options;
    this.#cancels = cancelsAmong(answers, this.#cancels, processClock());
    // Most leases that the database no longer has were just settled.
    for (const news of newsAmong(answers, rows)) if (table.has(news.lease)) send(news);
    const isAnyBusy = answers.some(({ answer }) => answer === 'busy');
    this.#continueChange(lengths, !isAnyBusy, judgedByMs);
    if (orders !== undefined) {
      send({ kind: 'schedules', upcoming, readAt: processClock() });
      send({ kind: 'operations', nextMs: operationsMs });
      send({ kind: 'orders', orders });
      if (this.#lengths.request(orders.leaseMs)) wakeup.trigger();
    } else send({ kind: 'forgotten' });
    // A lease that the database refuses to renew by itself is named again with the next heartbeat.
    const isLocked = answers.some(({ answer, refusal }) => answer === 'busy' && refusal === null);
    return { kind: isLocked || this.#lengths.isUnrecorded ? 'busy' : 'renewed' };
  }

  #continueChange(lengths: LeaseLengths, isAllRenewed: boolean, judgedByMs: number): void {
    const { setup, wakeup, send } = this.#options;
    const { wantedMs: leaseMs } = lengths;
    const step = this.#lengths.answered(lengths, isAllRenewed, judgedByMs);
    if (step === 'switch') send({ kind: 'lease', leaseMs, heartbeatMs: heartbeatFor(leaseMs, setup) });
    if (step !== 'settled') return;
    send({ kind: 'leaseSettled', leaseMs });
    wakeup.trigger();
  }
}
