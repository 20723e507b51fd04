import { isDeepStrictEqual } from 'node:util';
import type { ClaimedTask } from '../../domain/task.ts';
import type { HeldTask } from '../lease/held-task.ts';

/** What an outcome stops: a type whose breaker it opens, or the group of its task. */
export type Stopped = { readonly type: string } | { readonly queue: string; readonly groupKey: string };

interface Stop {
  readonly cause: HeldTask;
  readonly stopped: Stopped;
  /** When it ends in any case (`performance.now()`). */
  readonly until: number;
}

/**
 * If the outcome cannot be recorded for so long, the tasks start: other workers claim them as well, and what waits here
 * takes the place of other tasks.
 */
const MOST_MS = 5000;

/**
 * The claimed tasks that must not start, because an outcome of this worker stops their type or group, and the database
 * does not act on it yet. They wait while the outcome has no answer, and are given back once it has one. From the first
 * claim on that was sent after that, the database decides again.
 */
export class HeldBack {
  #stops: readonly Stop[] = [];

  /** The outcome of `cause` stops this. Another outcome that does is enough, unless it has its answer already. */
  stop(cause: HeldTask, stopped: Stopped, now: number): void {
    const isPending = (stop: Stop) => !isAnswered(stop.cause) && isDeepStrictEqual(stop.stopped, stopped);
    if (!this.#stops.some(isPending))
      this.#stops = [...this.#stops, { cause, stopped, until: now + MOST_MS }];
  }

  /** Whether the outcome of this task stops anything. */
  isCause(held: HeldTask): boolean {
    return this.#stops.some(({ cause }) => cause === held);
  }

  /** Whether this task must not start. */
  holds(task: ClaimedTask, now: number): boolean {
    return this.#stops.some(({ stopped, until }) => now < until && matches(stopped, task));
  }

  /** Whether this task is to be given back: what stops it has its answer. */
  isOver(task: ClaimedTask): boolean {
    return this.#stops.some(({ cause, stopped }) => isAnswered(cause) && matches(stopped, task));
  }

  /** A claim sent after the last answer has been answered: the database knows of all that have one. */
  known(): void {
    if (this.#stops.length > 0) this.#stops = this.#stops.filter(({ cause }) => !isAnswered(cause));
  }
}

function isAnswered(cause: HeldTask): boolean {
  return cause.state === 'gone';
}

function matches(stopped: Stopped, task: ClaimedTask): boolean {
  if ('type' in stopped) return task.type === stopped.type;
  return task.groupKey === stopped.groupKey && task.queue === stopped.queue;
}
