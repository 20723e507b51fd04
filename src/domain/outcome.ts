import { formatDuration, MAX_DURATION_MS } from '../lib/duration.ts';
import { messageOf, read } from '../lib/thrown.ts';
import type { FollowUps } from './follow-ups.ts';
import { exactPayload } from './payload.ts';
import { type SignalKind, signalKindOf } from './signals.ts';
import { STORABLE_LIMITS, type StorableLimits, shortText } from './storable.ts';
import { type StoredError, storableError, withoutFrames } from './storable-error.ts';
import { type ResultNote, storableResult } from './storable-result.ts';

/** Who reports the outcome. A handler's own report proves that it does not crash its worker. */
export type Reporter = 'handler' | 'worker';

/** The outcome of an attempt: settle gets nothing else. All of it can be stored. */
export type Outcome = Completed | Failed | DeadLettered | Snoozed | Cancelled;

interface Result {
  /** JSON text; null if there is none. */
  readonly result: string | null;
  /** What remains of a result that could not be stored. */
  readonly resultNote: ResultNote | null;
}

export interface Completed extends Result {
  readonly kind: 'completed';
  readonly reportedBy: Reporter;
  /** The handler asks to run the task again, as a new one. */
  readonly again?: RunAgain;
  /** The handler has enqueued these tasks. */
  readonly followUps?: FollowUps;
}

export interface RunAgain {
  readonly delayMs: number;
  /** JSON text; null: the same payload. */
  readonly payload: string | null;
}

/** A failed attempt, which counts: retried after `delayMs`, or after the task's back-off if that is null. */
export interface Failed extends Result {
  readonly kind: 'failed';
  readonly reportedBy: Reporter;
  readonly error: StoredError;
  readonly delayMs: number | null;
}

export interface DeadLettered {
  readonly kind: 'dead';
  readonly reportedBy: Reporter;
  readonly reason: string;
  /** Null if the reason says everything. */
  readonly error: StoredError | null;
}

/** Run again after `delayMs`; uses up no attempt. */
export interface Snoozed extends Result {
  readonly kind: 'snoozed';
  readonly reportedBy: Reporter;
  readonly delayMs: number;
  /** Present: no other task of its group starts until then. */
  readonly hold?: 'group';
}

export interface Cancelled {
  readonly kind: 'cancelled';
  readonly reportedBy: Reporter;
  readonly reason: string | null;
  /** The handler did not end when asked to, and was killed. */
  readonly killed: boolean;
}

/** How an attempt ended. An attempt that was given back, or whose lease was lost, has no outcome and is not listed. */
export type Ended =
  | { readonly kind: 'returned'; readonly value: unknown }
  /** `isCaller`: recognizes a stack line of the code that called the handler; see `withoutFrames`. */
  | {
      readonly kind: 'threw';
      readonly thrown: unknown;
      readonly isCaller?: (line: string) => boolean;
    }
  /** It exceeded its timeout, however the handler reacted. The stack shows where it was, if known. */
  | { readonly kind: 'timedOut'; readonly timeoutMs: number; readonly stack?: string | null }
  /** It ended after a request to cancel the task, or was killed (`killed`). */
  | { readonly kind: 'cancelled'; readonly reason: string | null; readonly killed: boolean }
  /** Its process has died. */
  | { readonly kind: 'childDied'; readonly exitCode: number | null; readonly signal: string | null }
  /** It blocked the whole worker. */
  | { readonly kind: 'unresponsive'; readonly blockedMs: number; readonly stack?: string | null }
  | { readonly kind: 'invalidPayload'; readonly problem: string }
  /** The database refused to store the outcome. */
  | { readonly kind: 'notStored'; readonly refusal: string; readonly code: string | null };

/** Reason of a dead letter whose outcome could not be recorded. */
export const NOT_STORED = 'outcome_not_stored';

/**
 * Decides the outcome of an attempt. A signal (`Retry`, `Dead`, `Snooze`, `Cancel`, `Again`) means the same whether returned or
 * thrown. Never throws.
 */
export function outcomeOf(ended: Ended, limits: StorableLimits = STORABLE_LIMITS): Outcome {
  switch (ended.kind) {
    case 'returned':
      return signalled(ended.value, limits) ?? completed(ended.value, limits);
    case 'threw':
      return withoutCaller(
        ended,
        signalled(ended.thrown, limits) ?? failed('handler', storableError(ended.thrown, limits)),
      );
    case 'timedOut':
      return failed('worker', {
        ...errorOf('TimeoutError', `ran longer than ${formatDuration(ended.timeoutMs)}`),
        stack: stackOf(ended),
      });
    case 'cancelled':
      return { ...cancelled('worker', ended.reason), killed: ended.killed };
    case 'childDied':
      return failed('worker', errorOf('ChildDied', `the handler's process ${deathOf(ended)}`));
    case 'unresponsive':
      return failed('worker', {
        ...errorOf('Unresponsive', `blocked its worker for ${formatDuration(ended.blockedMs)}`),
        stack: stackOf(ended),
      });
    case 'invalidPayload':
      return dead('worker', 'invalid_payload', errorOf('InvalidPayload', ended.problem));
    case 'notStored': {
      const message = `the database refused to record the outcome: ${ended.refusal}`;
      return dead('worker', NOT_STORED, { ...errorOf('OutcomeNotStored', message), code: ended.code });
    }
    default:
      return ended satisfies never;
  }
}

function withoutCaller({ isCaller }: Ended & { readonly kind: 'threw' }, outcome: Outcome): Outcome {
  if (isCaller === undefined) return outcome;
  if (outcome.kind === 'failed') return { ...outcome, error: withoutFrames(outcome.error, isCaller) };
  if (outcome.kind !== 'dead' || outcome.error === null) return outcome;
  return { ...outcome, error: withoutFrames(outcome.error, isCaller) };
}

const MAX_REASON = 500;

/** Null if the value is not a signal. */
function signalled(value: unknown, limits: StorableLimits): Outcome | null {
  const kind = signalKindOf(value);
  return kind === null ? null : outcomeOfSignal(kind, value, limits);
}

function outcomeOfSignal(kind: SignalKind, signal: unknown, limits: StorableLimits): Outcome {
  switch (kind) {
    case 'retry': {
      const error = storableError(signal, limits);
      return { ...failed('handler', error), ...resultOf(signal, limits), delayMs: delayOf(signal) };
    }
    case 'dead':
      return dead('handler', reasonOf(signal), storableError(signal, limits));
    case 'snooze':
      return {
        kind: 'snoozed',
        reportedBy: 'handler',
        ...resultOf(signal, limits),
        delayMs: delayOf(signal) ?? 0,
        ...(read(signal, 'hold') === 'group' && { hold: 'group' as const }),
      };
    case 'cancel':
      return cancelled('handler', reasonOf(signal));
    case 'again':
      return completedAgain(signal, limits);
    default:
      return kind satisfies never;
  }
}

function completed(value: unknown, limits: StorableLimits): Completed {
  const { json, note } = storableResult(value, limits);
  return { kind: 'completed', reportedBy: 'handler', result: json, resultNote: note };
}

function completedAgain(signal: unknown, limits: StorableLimits): Completed | Failed {
  const given = read(signal, 'payload');
  try {
    const payload = given === undefined ? null : exactPayload('the task', given).text;
    const again = { delayMs: delayOf(signal) ?? 0, payload };
    return { kind: 'completed', reportedBy: 'handler', ...resultOf(signal, limits), again };
  } catch (error) {
    return failed('handler', storableError(error, limits));
  }
}

function failed(reportedBy: Reporter, error: StoredError): Failed {
  return { kind: 'failed', reportedBy, error, delayMs: null, result: null, resultNote: null };
}

function dead(reportedBy: Reporter, reason: string, error: StoredError): DeadLettered {
  return { kind: 'dead', reportedBy, reason, error };
}

function cancelled(reportedBy: Reporter, reason: string | null): Cancelled {
  const short = reason === null ? null : shortText(reason, MAX_REASON);
  return { kind: 'cancelled', reportedBy, reason: short, killed: false };
}

function errorOf(name: string, message: string): StoredError {
  return { name, message: shortText(message, 2000), stack: null, code: null, cause: null };
}

function stackOf({ stack }: { readonly stack?: string | null }): string | null {
  return stack ? shortText(stack, 4000) : null;
}

function deathOf(ended: { readonly exitCode: number | null; readonly signal: string | null }): string {
  if (ended.signal !== null) return `was ended by ${ended.signal}`;
  return ended.exitCode === null ? 'ended' : `ended with exit code ${ended.exitCode}`;
}

// A signal from another copy of this package may have any fields.

function resultOf(signal: unknown, limits: StorableLimits): Result {
  const { json, note } = storableResult(read(signal, 'result'), limits);
  return { result: json, resultNote: note };
}

function delayOf(signal: unknown): number | null {
  const delayMs = read(signal, 'delayMs');
  if (typeof delayMs !== 'number' || !(delayMs >= 0)) return null;
  return Math.min(Math.round(delayMs), MAX_DURATION_MS);
}

function reasonOf(signal: unknown): string {
  const reason = read(signal, 'reason');
  return shortText(typeof reason === 'string' ? reason : messageOf(signal), MAX_REASON);
}
