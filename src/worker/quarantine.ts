import type { ClaimedTask } from '../domain/task.ts';
import type { Attempt, HeldTask } from './attempt.ts';
import { isGrave, isSuspect, mayStart } from './suspects.ts';

/** Keeps suspects apart from what else runs in a worker: it knows the grave ones here, for which all else makes way. */
export class Quarantine {
  readonly #running: ReadonlySet<Attempt>;
  /** Running or not. */
  readonly #grave = new Set<HeldTask>();

  /** `running`: the attempts that a task would start beside. */
  constructor(running: ReadonlySet<Attempt>) {
    this.#running = running;
  }

  /** A grave task runs here, or waits for its start. */
  get isGraveHere(): boolean {
    return this.#grave.size > 0;
  }

  /** A grave task waits for its start, and none runs. */
  get isGraveNext(): boolean {
    return this.isGraveHere && ![...this.#running].some(({ held }) => isGrave(held.task));
  }

  /** A task was claimed. */
  enter(held: HeldTask): void {
    if (isGrave(held.task)) this.#grave.add(held);
  }

  /** It neither waits nor runs any more. */
  leave(held: HeldTask): void {
    this.#grave.delete(held);
  }

  /** Whether a task may start now. `canLeave`: it has a file that a process of its own can load. */
  mayStart(task: ClaimedTask, canLeave: boolean): boolean {
    const { isGraveHere } = this;
    if (!isSuspect(task) && !isGraveHere) return true;
    return mayStart(task, { running: this.#running, isGraveHere, canLeave });
  }
}
