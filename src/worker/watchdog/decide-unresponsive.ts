import type { Ended } from '../../domain/outcome.ts';
import { leaseKey } from '../../domain/task.ts';
import type { LeaseRow } from '../lease/lease-table.ts';
import type { Busy } from './inspect-main-thread.ts';

/** A request to cancel a task that this worker holds, and when it arrived (`processClock()`). */
export interface CancelRequest {
  readonly receivedAt: number;
  readonly reason: string | null;
}

/** Requests by lease. */
export type CancelRequests = ReadonlyMap<string, CancelRequest>;

/** What is known of a main thread that does not answer. */
export interface Silence {
  /** Every lease of the process. */
  readonly rows: readonly LeaseRow[];
  /** The slot whose handler was entered last. */
  readonly lastEntered: number;
  /** `processClock()`. */
  readonly now: number;
  readonly silentMs: number;
  readonly graceMs: number;
  readonly cancels: CancelRequests;
}

export type Verdict =
  /** The running code may keep the thread for this long. */
  | { readonly kind: 'wait'; readonly ms: number }
  | {
      readonly kind: 'end';
      /** Undefined: no task is to blame. */
      readonly blamed: { readonly row: LeaseRow; readonly ended: Ended } | undefined;
      /** Leases that are neither blamed nor given back run out: their tasks may be to blame, and become suspects. */
      readonly givenBack: readonly LeaseRow[];
    };

/** How long the main thread may be silent in a task without a deadline, or in code of no task. */
const WITHOUT_DEADLINE_MS = 300_000;

/** Added to timeout and grace. */
const ALLOWANCE_MS = 2000;

/** How many milliseconds until a task can be to blame; 0 or less: ask which one it is. */
export function patienceWith(silence: Silence): number {
  const patience = runningHere(silence).map((row) => leftTo(row, silence));
  return Math.min(WITHOUT_DEADLINE_MS - silence.silentMs, ...patience);
}

/**
 * Decide what to do about a silent main thread that is busy with `busy`; undefined: it could not be asked, and the task
 * entered last is blamed.
 */
export function decideUnresponsive(silence: Silence, busy: Busy | undefined): Verdict {
  const here = runningHere(silence);
  const row = here.find((one) =>
    busy === undefined ? one.slot === silence.lastEntered : leaseKey(one) === busy.lease,
  );
  const ms = row === undefined && busy === undefined ? 0 : leftTo(row, silence);
  if (ms > 0) return { kind: 'wait', ms };
  const innocent = silence.rows.filter((one) => one !== row && (busy !== undefined || !here.includes(one)));
  const blamed = row && { row, ended: endOf(row, silence, busy?.stack ?? null) };
  return { kind: 'end', blamed, givenBack: innocent };
}

function runningHere({ rows }: Silence): LeaseRow[] {
  return rows.filter(({ startedAt, isIsolated }) => startedAt > 0 && !isIsolated);
}

/** Undefined row: the running code belongs to no task. */
function leftTo(row: LeaseRow | undefined, { now, silentMs, graceMs, cancels }: Silence): number {
  const untilLimit = WITHOUT_DEADLINE_MS - silentMs;
  if (row === undefined) return untilLimit;
  const cancelledAt = cancels.get(leaseKey(row))?.receivedAt ?? Infinity;
  const askedAt = Math.min(cancelledAt, row.deadlineAt === 0 ? Infinity : row.deadlineAt);
  return askedAt === Infinity ? untilLimit : askedAt + graceMs + ALLOWANCE_MS - now;
}

function endOf(row: LeaseRow, { now, cancels }: Silence, stack: string | null): Ended {
  const { startedAt, deadlineAt } = row;
  const cancel = cancels.get(leaseKey(row));
  if (cancel !== undefined) return { kind: 'cancelled', reason: cancel.reason, killed: true };
  return deadlineAt > 0
    ? { kind: 'timedOut', timeoutMs: deadlineAt - startedAt, stack }
    : { kind: 'unresponsive', blockedMs: now - startedAt, stack };
}
