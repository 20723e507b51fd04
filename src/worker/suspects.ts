import type { ClaimedTask } from '../domain/task.ts';
import type { Attempt } from './attempt.ts';

/*
 * A task whose worker was lost is a suspect: it may have been what took the worker down. It runs in a process of its
 * own, whose death is then an ordinary failure. One that was lost twice although it ran so is grave: a third loss is
 * its end, `worker_lost`, so nothing else may be to blame for that one. It is the only suspect of its worker, and
 * nothing runs in the worker's own process beside it.
 */

export function isSuspect({ losses }: ClaimedTask): boolean {
  return losses > 0;
}

export function isGrave({ losses }: ClaimedTask): boolean {
  return losses >= 2;
}

/** What a task would start beside. */
export interface Beside {
  readonly running: Iterable<Attempt>;
  /** A grave task runs here, or waits for its start. */
  readonly isGraveHere: boolean;
  /** It has a file that a process of its own can load. */
  readonly canLeave: boolean;
}

/**
 * Whether a task may start now. While a grave one is here, what else starts does so in a process, so that there comes
 * a time when it can. What has no file (a function of an application) runs in the worker's process, as a suspect alone.
 */
export function mayStart(task: ClaimedTask, { running, isGraveHere, canLeave }: Beside): boolean {
  if (isGrave(task)) return every(running, (other) => other.isApart && !isSuspect(other.held.task));
  if (isGraveHere) return !isSuspect(task) && canLeave;
  return (
    !isSuspect(task) || every(running, (other) => !isSuspect(other.held.task) || (canLeave && other.isApart))
  );
}

function every<T>(all: Iterable<T>, isSo: (one: T) => boolean): boolean {
  for (const one of all) if (!isSo(one)) return false;
  return true;
}
