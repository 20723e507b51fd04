import { after } from '../../lib/after.ts';
import type { AbortReason } from '../handlers/handler.ts';
import type { StartedTask } from '../lease/held-task.ts';

/** A timer this late means that the process was stopped or its thread blocked, and that handlers got no time. */
const LATE_MS = 1000;

/** Functions that cancel an attempt's timeout and its grace. */
interface Timers {
  timeout?: () => void;
  grace?: () => void;
}

/**
 * Asks attempts to end, at their timeout or for another reason, and calls back for an inline attempt that has not ended
 * after the grace.
 */
export class AttemptTimers {
  readonly #graceMs: number;
  readonly #onIgnored: (held: StartedTask) => void;
  /** The timers of attempts that have a timeout or were asked to end. */
  readonly #timers = new Map<StartedTask, Timers>();

  constructor(graceMs: number, onIgnored: (held: StartedTask) => void) {
    this.#graceMs = graceMs;
    this.#onIgnored = onIgnored;
  }

  /** Start the timeout of an attempt, if it has one. */
  start(held: StartedTask): void {
    const { timeoutMs } = held.attempt;
    if (timeoutMs === null) return;
    this.#timers.set(held, { timeout: after(timeoutMs, () => this.askToEnd(held, 'timeout')) });
  }

  /** Ask an attempt to end. Its grace begins at the first request. */
  askToEnd(held: StartedTask, reason: AbortReason, cancelReason: string | null = null): void {
    held.attempt.abort(reason, cancelReason);
    const timers = this.#timers.get(held) ?? {};
    if (timers.grace !== undefined) return;
    // A child process is killed instead.
    const onIgnored = () => {
      if (!held.attempt.isIsolated) this.#onIgnored(held);
    };
    this.#startGrace(held, (isLate) => (isLate ? this.#startGrace(held, onIgnored) : onIgnored()));
  }

  /** A grace that the handler could not use is given once more, but not a third time. */
  #startGrace(held: StartedTask, onOver: (isLate: boolean) => void): void {
    const due = performance.now() + this.#graceMs;
    const grace = after(this.#graceMs, () => onOver(performance.now() - due >= LATE_MS));
    this.#timers.set(held, { ...this.#timers.get(held), grace });
  }

  /** Cancel the timers of an attempt that has ended. */
  clear(held: StartedTask): void {
    if (this.#timers.size === 0) return;
    const timers = this.#timers.get(held);
    if (timers === undefined) return;
    this.#timers.delete(held);
    timers.timeout?.();
    timers.grace?.();
  }
}
