import type { ClaimedTask } from '../../domain/task.ts';

/*
 * A task whose worker was lost is a suspect: it may have taken the worker down. It runs in a process of its own, whose
 * death is then an ordinary failure.
 *
 * If one more loss would end it as `worker_lost` (by default the third; the `max_losses` of its queue sets the number),
 * no other task may cause that loss: it runs as the only suspect of its worker, and no task runs in the worker's own
 * process beside it.
 *
 * `lost_ahead` (three losses before a start: claimed alone) is another count; see taskq.rescue.
 */

export function isSuspect({ losses }: Pick<ClaimedTask, 'losses'>): boolean {
  return losses > 0;
}

/** Counts of the tasks here, which decide whether a further one may start. */
export interface SuspectCounts {
  /** Tasks that have their last chance here, whether they run or wait to start. */
  readonly lastChances: number;
  readonly runningLastChances: number;
  /** Tasks that run in the worker's own process, suspects or not. */
  readonly runningInline: number;
  readonly runningSuspects: number;
  readonly runningSuspectsInline: number;
}

/** Keeps these counts: `claimed` and `left` frame a task's stay, `started` and `ended` its run. */
export class SuspectCounter implements SuspectCounts {
  lastChances = 0;
  runningLastChances = 0;
  runningInline = 0;
  runningSuspects = 0;
  runningSuspectsInline = 0;

  /** A task waits here. */
  claimed(task: ClaimedTask): void {
    if (task.hasLastChance) this.lastChances += 1;
  }

  /** A task that waited or ran here has left. */
  left(task: ClaimedTask): void {
    if (task.hasLastChance) this.lastChances -= 1;
  }

  started(task: ClaimedTask, isIsolated: boolean): void {
    this.#countRunning(task, isIsolated, 1);
  }

  ended(task: ClaimedTask, isIsolated: boolean): void {
    this.#countRunning(task, isIsolated, -1);
  }

  #countRunning(task: ClaimedTask, isIsolated: boolean, by: 1 | -1): void {
    if (!isIsolated) this.runningInline += by;
    if (!isSuspect(task)) return;
    this.runningSuspects += by;
    if (!isIsolated) this.runningSuspectsInline += by;
    if (task.hasLastChance) this.runningLastChances += by;
  }
}

/**
 * Whether a task may start now. While a task with its last chance is here, others start only in a child process, so
 * that its turn can come. `canIsolate`: the handler has a file that a child process can load. A suspect without one
 * (its handler is a function of an application) runs in the worker's process, as the only suspect.
 */
export function mayStart(task: ClaimedTask, canIsolate: boolean, counts: SuspectCounts): boolean {
  if (task.hasLastChance) return counts.runningInline === 0 && counts.runningSuspects === 0;
  if (counts.lastChances > 0) return !isSuspect(task) && canIsolate;
  if (!isSuspect(task)) return true;
  return canIsolate ? counts.runningSuspectsInline === 0 : counts.runningSuspects === 0;
}
