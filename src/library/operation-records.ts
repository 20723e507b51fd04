import type { OperationFailure, OperationState, OperationVerb } from '../domain/operation.ts';
import type { ListedOperation } from '../queue/inspect/list-operations.ts';
import { timeOf } from './time-of.ts';

/** A verb on many tasks, which the database stores and workers carry out. */
export interface OperationRecord {
  readonly id: string;
  readonly verb: OperationVerb;
  /** Which tasks, as stored; `before` leaves out those that came after the start. */
  readonly filter: Readonly<Record<string, unknown>>;
  /** Of the verb, as stored: payload, patch, delay_ms, max_attempts. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Name given by who started it. */
  readonly by: string | null;
  /** The role of that session. */
  readonly role: string;
  /** The application_name of that session. */
  readonly via: string | null;
  readonly reason: string | null;
  /**
   * `running`; `canary` (it revives the first tasks, and waits until these have ended); `completed`; `stopped` (by
   * someone, or because too many died again); `failed` (it cannot continue).
   */
  readonly state: OperationState;
  /** How many tasks there were at the start. */
  readonly matched: number;
  /** There may be more: counting ends at 10,000. */
  readonly atLeast: boolean;
  readonly done: number;
  /** How many tasks no longer had a status for the verb. */
  readonly skipped: number;
  readonly failed: number;
  /** How many of the revived tasks died again while it ran; null: it does not check. */
  readonly deadAgain: number | null;
  /** How many of them had not ended at the last check; null as above. */
  readonly notEnded: number | null;
  /** The first ten of these, if a canary waits for them; else null. */
  readonly waitsFor: readonly string[] | null;
  /** The first hundred that failed. */
  readonly failures: readonly OperationFailure[];
  readonly createdAt: Date;
  /** Null: it has not ended. */
  readonly endedAt: Date | null;
  /** Why it was stopped, or failed. */
  readonly stoppedBecause: string | null;
  /** An error after which it continues later. */
  readonly trouble: string | null;
  /** `50/1m`: at most 50 tasks a minute. */
  readonly rate: string | null;
  /** How many are revived first. */
  readonly canary: number | null;
  /** `20%`: it stops if a larger share dies again. */
  readonly stopAt: string | null;
}

/** Converts a row of `taskq.list_operations`. */
export function operationOf(row: ListedOperation): OperationRecord {
  const { id, verb, filter, settings, by, role, via, reason, state, matched, done, skipped, failed } = row;
  const { at_least: atLeast, dead_again: deadAgain, stopped_because: stoppedBecause } = row;
  const { not_ended: notEnded, waits_for: waitsFor } = row;
  const { failures, trouble, rate, canary } = row;
  return {
    ...{ id, verb, filter, settings, by, role, via, reason, state, matched, atLeast, done, skipped, failed },
    ...{ deadAgain, notEnded, waitsFor, failures, stoppedBecause, trouble, rate, canary },
    createdAt: new Date(row.created_at),
    endedAt: timeOf(row.ended_at),
    stopAt: row.stop_at === null ? null : `${row.stop_at}%`,
  };
}
