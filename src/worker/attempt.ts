import { AsyncLocalStorage } from 'node:async_hooks';
import { type Ended, type Outcome, outcomeOf } from '../domain/outcome.ts';
import { type ClaimedTask, leaseKey } from '../domain/task.ts';
import type { AbortReason } from './handler.ts';

/** What an attempt comes to: an outcome to be recorded, or nothing to record. */
export type Conclusion =
  | { readonly kind: 'settle'; readonly outcome: Outcome }
  /** It was asked to end by the shutdown and did: the task waits again, unburned. */
  | { readonly kind: 'give back' }
  /** The lease is somebody else's. */
  | { readonly kind: 'drop' };

/** A task held by this worker, from its claim to the answer of its settle. */
export interface HeldTask {
  readonly task: ClaimedTask;
  /** Its row in the lease table. */
  readonly slot: number;
  /** `performance.now()`. */
  readonly claimedAt: number;
}

/** Which attempt the running code belongs to: an error that nobody catches is traced back through it. */
export const currentAttempt = new AsyncLocalStorage<Attempt>();

/** Where the main thread shows to another one which lease its running code belongs to. */
export const SHOWN = Symbol.for('taskq.currentLease');

/** Show another thread, by way of the debugger, whose code runs: see askMainThread. */
export function showCurrentLease(): void {
  const shown: Record<symbol, unknown> = globalThis as never;
  shown[SHOWN] = () => {
    const attempt = currentAttempt.getStore();
    return attempt === undefined ? null : leaseKey(attempt.held.task);
  };
}

/** One run of a task in this worker, from its start to its conclusion. */
export class Attempt {
  readonly held: HeldTask;
  /** Milliseconds the attempt may take; null: for ever. */
  readonly timeoutMs: number | null;
  /** Runs in a process of its own: it cannot block or crash this one. */
  readonly isApart: boolean;
  readonly startedAt = performance.now();
  /** Set by what runs it elsewhere: passes the request to end on. */
  onAbort: ((reason: AbortReason) => void) | undefined;
  /** It did not end when it was asked to, and its process is ended for it. */
  killed = false;
  #controller: AbortController | undefined;
  #aborted: { reason: AbortReason; cancelReason: string | null } | undefined;
  #stray: { thrown: unknown } | undefined;

  constructor(held: HeldTask, how: { readonly timeoutMs: number | null; readonly isApart: boolean }) {
    this.held = held;
    this.timeoutMs = how.timeoutMs;
    this.isApart = how.isApart;
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
      else if (this.#stray !== undefined) this.#controller.abort('shutdown');
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
  stray(thrown: unknown): void {
    this.#stray ??= { thrown };
    this.#controller?.abort('shutdown');
  }

  /** Decide what the attempt comes to, by how the handler ended and what it was asked before. */
  conclude(outcome: Outcome): Conclusion {
    const aborted = this.#aborted;
    if (aborted?.reason === 'lost') return { kind: 'drop' };
    if (this.#stray !== undefined) return settled({ kind: 'threw', thrown: this.#stray.thrown });
    if (aborted === undefined) return { kind: 'settle', outcome };
    switch (aborted.reason) {
      case 'timeout':
        return settled({ kind: 'timedOut', timeoutMs: this.timeoutMs! });
      case 'cancelled':
        if (!isPlainFailure(outcome)) return { kind: 'settle', outcome };
        return settled({ kind: 'cancelled', reason: aborted.cancelReason, killed: this.killed });
      case 'shutdown':
        return isPlainFailure(outcome) ? { kind: 'give back' } : { kind: 'settle', outcome };
      default:
        return aborted.reason satisfies never;
    }
  }
}

function settled(ended: Ended): Conclusion {
  return { kind: 'settle', outcome: outcomeOf(ended) };
}

/** What a handler throws when it is interrupted, as against what it says on purpose. */
function isPlainFailure(outcome: Outcome): boolean {
  return outcome.kind === 'failed' && outcome.delayMs === null;
}
