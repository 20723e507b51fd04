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
 * If the outcome still has no answer after this long, let the tasks start: other workers claim them anyway, and while
 * they wait here they take the room of other tasks.
 */
const MOST_MS = 5000;

/**
 * Decides which claimed tasks must not start: an outcome of this worker stops their type or group, and the database may
 * not know yet. They wait until the outcome is answered, then they are given back. The first claim sent after the answer
 * ends this: what it brings may start.
 */
export class HeldBack {
  #stops: readonly Stop[] = [];

  /** Whether anything is stopped. */
  get isAny(): boolean {
    return this.#stops.length > 0;
  }

  /** The outcome of `cause` stops this. It is not counted again, nor while another unanswered outcome stops the same. */
  stop(cause: HeldTask, stopped: Stopped, now: number): void {
    const isPending = (stop: Stop) => !isAnswered(stop.cause) && isDeepStrictEqual(stop.stopped, stopped);
    if (this.isCause(cause) || this.#stops.some(isPending)) return;
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

  /** Whether to give this task back: the outcome that stops it has been answered. */
  isOver(task: ClaimedTask): boolean {
    return this.#stops.some(({ cause, stopped }) => isAnswered(cause) && matches(stopped, task));
  }

  /** A claim sent after every answer so far has come back: drop the stops whose outcomes are answered. */
  known(): void {
    if (this.isAny) this.#stops = this.#stops.filter(({ cause }) => !isAnswered(cause));
  }
}

function isAnswered(cause: HeldTask): boolean {
  return cause.state === 'gone';
}

function matches(stopped: Stopped, task: ClaimedTask): boolean {
  if ('type' in stopped) return task.type === stopped.type;
  return task.groupKey === stopped.groupKey && task.queue === stopped.queue;
}
