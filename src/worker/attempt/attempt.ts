import { AsyncLocalStorage } from 'node:async_hooks';
import { type Completed, type Outcome, outcomeOf } from '../../domain/outcome.ts';
import type { WorkflowPlace } from '../../domain/task.ts';
import { TaskqError } from '../../lib/errors.ts';
import type { AbortReason, Isolation } from '../handlers/handler.ts';
import type { LogLines } from './log-lines.ts';
import type { Notes } from './notes.ts';

/** The task of an attempt. */
export interface AttemptTask {
  readonly id: string;
  readonly leaseNo: number;
  readonly type: string;
  readonly queue: string;
  /** JSON text. */
  readonly payload: string;
  /** Failed attempts so far. */
  readonly attempts: number;
  /** The W3C trace context given by its producer. */
  readonly traceparent: string | null;
  /** The tick of the schedule that enqueued it, ISO 8601. */
  readonly tick: string | null;
  /** Its place in a workflow. */
  readonly workflow: WorkflowPlace | null;
}

/** Where a handler runs: in this process, in a child process that runs one task after the other, or in a fresh one. */
export type AttemptIsolation = Isolation | 'fresh process';

/** How an attempt concludes: with an outcome to report, or without one. */
export type Conclusion =
  | Outcome
  | Recorded
  /** The shutdown asked it to end, and it did: the task waits again, with no attempt counted. */
  | { readonly kind: 'given back' }
  /** Another worker has the lease: there is nothing to report. */
  | { readonly kind: 'lost' }
  /** It did not begin: the task waits for a slot again. */
  | { readonly kind: 'put back' };

/** Whether a handler's own transaction has completed its task. */
export type Completion =
  /** It is open, or there is none, or it was rolled back. */
  | { readonly kind: 'open' | 'none' }
  /** Its commit was sent, and is unanswered. */
  | { readonly kind: 'sent'; readonly outcome: Completed }
  | Recorded;

/** The handler's own transaction was committed, and this outcome with it. */
export interface Recorded {
  readonly kind: 'recorded';
  readonly outcome: Completed;
}

/** The attempt that the running code belongs to, to which uncaught errors are traced back. */
export const currentAttempt = new AsyncLocalStorage<Attempt>();

/** One run of a task, from its start to its conclusion. */
export class Attempt {
  readonly task: AttemptTask;
  /** The time limit of the attempt, in milliseconds; null: unlimited. */
  readonly timeoutMs: number | null;
  readonly isolation: AttemptIsolation;
  readonly startedAt = performance.now();
  /** Set while the handler runs in another process: passes the abort on. */
  onAbort: ((reason: AbortReason) => void) | undefined = undefined;
  /** Whether it takes no slot of its own: it only calls a SQL function, in a batch with that of the slot. */
  readonly sharesSlot: boolean;
  /** Its batch was not committed, and it has no slot to run in alone. */
  hasNotBegun = false;
  /** It did not end when asked to, so its process is killed. */
  killed = false;
  /** The last lines of its log; undefined: it has logged nothing. */
  log: LogLines | undefined = undefined;
  /** What its handler has reported so far, to be stored; undefined: nothing, as for most. */
  notes: Notes | undefined = undefined;
  completion: Completion = { kind: 'none' };
  /** Resolves when the handler's transaction is over; undefined: none is open. */
  transacting: Promise<void> | undefined = undefined;
  #controller: AbortController | undefined;
  #aborted: { reason: AbortReason; cancelReason: string | null } | undefined;
  #uncaught: { thrown: unknown } | undefined;

  constructor(
    task: AttemptTask,
    timeoutMs: number | null = null,
    isolation: AttemptIsolation = 'inline',
    sharesSlot = false,
  ) {
    this.task = task;
    this.timeoutMs = timeoutMs;
    this.isolation = isolation;
    this.sharesSlot = sharesSlot;
  }

  /** Whether it runs in a child process, where it cannot block or crash this one. */
  get isIsolated(): boolean {
    return this.isolation !== 'inline';
  }

  /** Whether the task may have been completed already, by the handler's own transaction. */
  get isCompleting(): boolean {
    return this.completion.kind === 'sent' || this.completion.kind === 'recorded';
  }

  /** The completion that the handler's own transaction has committed; undefined: none is known. */
  get recorded(): Completed | undefined {
    return this.completion.kind === 'recorded' ? this.completion.outcome : undefined;
  }

  /** Why it was asked to end; undefined: it was not. */
  get aborted(): AbortReason | undefined {
    return this.#aborted?.reason;
  }

  /** Aborted when the handler must end. Created on first use, because most handlers never use it. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
      else if (this.#uncaught !== undefined) this.#controller.abort('shutdown');
    }
    return this.#controller.signal;
  }

  /** Ask the handler to end. The first reason counts, but a lost lease outweighs every other. */
  abort(reason: AbortReason, cancelReason: string | null = null): void {
    if (this.#aborted !== undefined && (reason !== 'lost' || this.#aborted.reason === 'lost')) return;
    this.#aborted = { reason, cancelReason };
    this.#controller?.abort(reason); // the handler's signal keeps the first reason
    this.onAbort?.(reason);
  }

  /** Record an uncaught error: the attempt has failed, whatever the handler returns. */
  failUncaught(thrown: unknown): void {
    this.#uncaught ??= { thrown };
    this.#controller?.abort('shutdown');
  }

  /** Conclude the attempt, from how the handler ended and what it was asked before. */
  conclude(ended: Outcome): Conclusion {
    const { completion } = this;
    if (completion.kind === 'recorded') return completion;
    const isSent = completion.kind === 'sent';
    const aborted = this.#aborted;
    if (aborted?.reason === 'lost' && !isSent) return LOST;
    // It must not complete without what its transaction wrote. If that was committed, this report is a repeat.
    const outcome = isSent && ended.kind === 'completed' ? UNANSWERED : ended;
    if (this.#uncaught !== undefined) return outcomeOf({ kind: 'threw', thrown: this.#uncaught.thrown });
    if (this.hasNotBegun && (aborted === undefined || aborted.reason === 'timeout')) return PUT_BACK;
    if (aborted === undefined) return outcome;
    switch (aborted.reason) {
      case 'timeout':
        return outcomeOf({ kind: 'timedOut', timeoutMs: this.timeoutMs! });
      case 'cancelled':
        if (!isPlainFailure(outcome)) return outcome;
        return outcomeOf({ kind: 'cancelled', reason: aborted.cancelReason, killed: this.killed });
      case 'shutdown':
        return isPlainFailure(outcome) ? GIVEN_BACK : outcome;
      case 'lost':
        return outcome; // also the heartbeats' answer for a task that its transaction has completed
      default:
        return aborted.reason satisfies never;
    }
  }
}

const GIVEN_BACK: Conclusion = { kind: 'given back' };
const LOST: Conclusion = { kind: 'lost' };
const PUT_BACK: Conclusion = { kind: 'put back' };

const UNANSWERED = outcomeOf({
  kind: 'threw',
  thrown: new TaskqError(
    'transaction_unanswered',
    'the handler ended before its ctx.transaction had an answer to its commit',
  ),
});

/** Whether a handler that was interrupted may have thrown this, rather than ended on purpose. */
function isPlainFailure(outcome: Outcome): boolean {
  return outcome.kind === 'failed' && outcome.delayMs === null;
}
