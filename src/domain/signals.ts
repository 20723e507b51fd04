import { toDurationMs } from '../lib/duration.ts';
import { read } from '../lib/thrown.ts';
import { exactPayload } from './payload.ts';

export interface RetryOptions {
  /** Wait before the next attempt, as text or in milliseconds; default: the task's back-off. */
  readonly delay?: string | number;
  readonly message?: string;
  readonly cause?: unknown;
  /** Stored as the task's result so far. */
  readonly result?: unknown;
}

/** Thrown by a handler: this attempt failed; retry after `delay` if attempts are left. */
export class Retry extends Error {
  /** Milliseconds; undefined for the task's back-off. */
  readonly delayMs: number | undefined;
  readonly result: unknown;

  constructor(options: RetryOptions = {}) {
    const message = options.message ?? 'the handler asked for a retry';
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Retry';
    this.delayMs = options.delay === undefined ? undefined : toDurationMs(options.delay, 'Retry delay');
    this.result = options.result;
    brand(this, 'retry');
  }
}

/** Thrown by a handler: no attempt can succeed; the task becomes a dead letter with this reason. */
export class Dead extends Error {
  readonly reason: string;

  constructor(reason: string, options: { readonly cause?: unknown } = {}) {
    super(reason, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Dead';
    this.reason = reason;
    brand(this, 'dead');
  }
}

/**
 * Thrown by a handler: run the task again after `delay` (text or milliseconds). Uses up no attempt. With `hold: 'group'`
 * no other task of its group starts until then.
 */
export class Snooze extends Error {
  readonly delayMs: number;
  readonly result: unknown;
  /** Absent: only this task waits. */
  readonly hold: 'group' | undefined;

  constructor(
    delay: string | number,
    options: { readonly result?: unknown; readonly hold?: 'group' | undefined } = {},
  ) {
    super('the handler snoozed the task');
    this.name = 'Snooze';
    this.delayMs = toDurationMs(delay, 'Snooze delay');
    this.result = options.result;
    this.hold = options.hold;
    brand(this, 'snooze');
  }
}

/** Thrown by a handler: the task is no longer wanted; it ends as cancelled with this reason. */
export class Cancel extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.name = 'Cancel';
    this.reason = reason;
    brand(this, 'cancel');
  }
}

export interface AgainOptions {
  /** Wait before the next run, as text or in milliseconds; default: none. */
  readonly delay?: string | number;
  /** The payload of the next run; default: the same. */
  readonly payload?: unknown;
  /** Stored as the task's result. */
  readonly result?: unknown;
}

/**
 * Returned by a handler: the task has completed, and runs again as a new task with the same options and key. Throws
 * InvalidPayloadError for a payload that cannot be stored.
 */
export class Again extends Error {
  readonly delayMs: number;
  readonly payload: unknown;
  readonly result: unknown;

  constructor(options: AgainOptions = {}) {
    super('the handler asked to run the task again');
    this.name = 'Again';
    this.delayMs = options.delay === undefined ? 0 : toDurationMs(options.delay, 'Again delay');
    this.payload = options.payload;
    this.result = options.result;
    if (options.payload !== undefined) exactPayload('the task', options.payload);
    brand(this, 'again');
  }
}

export type SignalKind = 'retry' | 'dead' | 'snooze' | 'cancel' | 'again';

/**
 * Returns which signal a value is; null if none. Checks a registered symbol because a handler may use another copy of
 * this package, with other classes.
 */
export function signalKindOf(thrown: unknown): SignalKind | null {
  const kind = read(thrown, BRAND);
  return KINDS.find((known) => known === kind) ?? null;
}

const BRAND = Symbol.for('taskq.signal');
const KINDS: readonly SignalKind[] = ['retry', 'dead', 'snooze', 'cancel', 'again'];

function brand(signal: Error, kind: SignalKind): void {
  Object.defineProperty(signal, BRAND, { value: kind });
}
