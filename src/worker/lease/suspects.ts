import type { ClaimedTask } from '../../domain/task.ts';

/*
 * A task whose worker was lost is a suspect: it may have been what took the worker down. It runs in a process of its
 * own, whose death is then an ordinary failure. One that was lost twice although it ran so has its last chance: a third
 * loss is its end, `worker_lost`, so nothing else may be to blame for that one. It is the only suspect of its worker,
 * and nothing runs in the worker's own process beside it.
 */

export function isSuspect({ losses }: Pick<ClaimedTask, 'losses'>): boolean {
  return losses > 0;
}

export function isLastChance({ losses }: Pick<ClaimedTask, 'losses'>): boolean {
  return losses >= 2;
}

/** What a task would start beside, in numbers. */
export interface Beside {
  /** Tasks that have their last chance here: they run, or wait for their start. */
  readonly lastChances: number;
  readonly runningInline: number;
  readonly runningSuspects: number;
  readonly runningSuspectsInline: number;
}

/**
 * Whether a task may start now. While one with its last chance is here, what else starts does so in a process, so that
 * there comes a time when it can. `canLeave`: it has a file that a process of its own can load. What has none (a function
 * of an application) runs in the worker's process, as a suspect alone.
 */
export function mayStart(task: ClaimedTask, canLeave: boolean, beside: Beside): boolean {
  if (isLastChance(task)) return beside.runningInline === 0 && beside.runningSuspects === 0;
  if (beside.lastChances > 0) return !isSuspect(task) && canLeave;
  if (!isSuspect(task)) return true;
  return canLeave ? beside.runningSuspectsInline === 0 : beside.runningSuspects === 0;
}
