import { AsyncLocalStorage } from 'node:async_hooks';
import { type Outcome, outcomeOf } from '../../domain/outcome.ts';
import type { AbortReason } from '../handlers/handler.ts';

/** What an attempt is made of. */
export interface AttemptTask {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  /** JSON text. */
  readonly payload: string;
  /** Failed attempts so far. */
  readonly attempts: number;
  /** The W3C trace context that its producer gave it. */
  readonly traceparent: string | null;
}

/** Where a handler runs: in this process, in one that runs one task after the other, or in one of its own. */
export type Place = 'inline' | 'process' | 'fresh process';

/** How an attempt is concluded: by an outcome, or without one. */
export type Conclusion =
  | Outcome
  /** It was asked to end by the shutdown and did: the task waits again, unburned. */
  | 'given back'
  /** The lease is somebody else's: there is nothing to report. */
  | 'lost';

/** Which attempt the running code belongs to: an error that nobody catches is traced back through it. */
export const currentAttempt = new AsyncLocalStorage<Attempt>();

/** One run of a task, from its start to its conclusion. */
export class Attempt {
  readonly task: AttemptTask;
  /** Milliseconds the attempt may take; null: for ever. */
  readonly timeoutMs: number | null;
  readonly place: Place;
  readonly startedAt = performance.now();
  /** Set by what runs it elsewhere: passes the request to end on. */
  onAbort: ((reason: AbortReason) => void) | undefined = undefined;
  /** It did not end when it was asked to, and its process is ended for it. */
  killed = false;
  #controller: AbortController | undefined;
  #aborted: { reason: AbortReason; cancelReason: string | null } | undefined;
  #uncaught: { thrown: unknown } | undefined;

  constructor(task: AttemptTask, timeoutMs: number | null = null, place: Place = 'inline') {
    this.task = task;
    this.timeoutMs = timeoutMs;
    this.place = place;
  }

  /** Runs in a process of its own: it cannot block or crash this one. */
  get isApart(): boolean {
    return this.place !== 'inline';
  }

  /** Why it was asked to end; undefined: it was not. */
  get aborted(): AbortReason | undefined {
    return this.#aborted?.reason;
  }

  /** Aborted when the handler is to end. Made when first asked for: most handlers never do. */
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
    if (this.#aborted !== undefined && reason !== 'lost') return;
    const first = this.#aborted === undefined;
    this.#aborted = { reason, cancelReason };
    if (!first) return;
    this.#controller?.abort(reason);
    this.onAbort?.(reason);
  }

  /** An error of this attempt that nobody caught: whatever the handler returns, it has failed. */
  failUncaught(thrown: unknown): void {
    this.#uncaught ??= { thrown };
    this.#controller?.abort('shutdown');
  }

  /** Decide what the attempt comes to, by how the handler ended and what it was asked before. */
  conclude(outcome: Outcome): Conclusion {
    const aborted = this.#aborted;
    if (aborted?.reason === 'lost') return 'lost';
    if (this.#uncaught !== undefined) return outcomeOf({ kind: 'threw', thrown: this.#uncaught.thrown });
    if (aborted === undefined) return outcome;
    switch (aborted.reason) {
      case 'timeout':
        return outcomeOf({ kind: 'timedOut', timeoutMs: this.timeoutMs! });
      case 'cancelled':
        if (!isPlainFailure(outcome)) return outcome;
        return outcomeOf({ kind: 'cancelled', reason: aborted.cancelReason, killed: this.killed });
      case 'shutdown':
        return isPlainFailure(outcome) ? 'given back' : outcome;
      default:
        return aborted.reason satisfies never;
    }
  }
}

/** What a handler throws when it is interrupted, as against what it says on purpose. */
function isPlainFailure(outcome: Outcome): boolean {
  return outcome.kind === 'failed' && outcome.delayMs === null;
}
