import { after } from '../lib/after.ts';
import type { Bell } from '../lib/bell.ts';
import type { Attempt } from './attempt.ts';
import type { EventLog } from './events.ts';
import type { AbortReason } from './handler.ts';

export interface AttemptTimersOptions {
  readonly graceMs: number;
  readonly events: EventLog;
  /** Rung when an attempt is abandoned. */
  readonly room: Bell;
}

/**
 * Asks attempts to end, at their timeout or for whatever reason it is told to, and abandons an inline one that has not
 * ended after the grace.
 */
export class AttemptTimers {
  readonly #options: AttemptTimersOptions;
  /** What calls the timeout off, of attempts that have one. */
  readonly #timeouts = new Map<Attempt, () => void>();
  /** What calls off the end of the grace, of attempts that were asked to end. */
  readonly #graces = new Map<Attempt, () => void>();
  readonly #abandoned = new Set<Attempt>();

  constructor(options: AttemptTimersOptions) {
    this.#options = options;
  }

  /** How many attempts have handlers that ignore that they were to end. */
  get abandoned(): number {
    return this.#abandoned.size;
  }

  /** The attempt has started: its timeout runs, if it has one. */
  start(attempt: Attempt): void {
    const { timeoutMs } = attempt;
    if (timeoutMs === null) return;
    this.#timeouts.set(
      attempt,
      after(timeoutMs, () => this.askToEnd(attempt, 'timeout')),
    );
  }

  /** Ask it to end. Its grace begins when it is first asked. */
  askToEnd(attempt: Attempt, reason: AbortReason, cancelReason: string | null = null): void {
    attempt.abort(reason, cancelReason);
    if (this.#graces.has(attempt)) return;
    this.#graces.set(
      attempt,
      after(this.#options.graceMs, () => this.#abandon(attempt)),
    );
  }

  /** The attempt has ended: call off what waits for it. */
  clear(attempt: Attempt): void {
    this.#abandoned.delete(attempt);
    callOff(this.#timeouts, attempt);
    callOff(this.#graces, attempt);
  }

  #abandon(attempt: Attempt): void {
    if (attempt.isApart) return; // its process is being killed
    const { task } = attempt.held;
    this.#abandoned.add(attempt);
    this.#options.events.event('task.abandoned', {
      task_id: task.id,
      type: task.type,
      abandoned: this.abandoned,
    });
    this.#options.room.ring();
  }
}

function callOff(timers: Map<Attempt, () => void>, attempt: Attempt): void {
  timers.get(attempt)?.();
  timers.delete(attempt);
}
