import type { Output } from '../run/output.ts';
import { printable } from './printable.ts';

/** What to do with a task that a verb refused, as a sentence without its end, by what the task is. */
export interface Advice {
  readonly waiting?: string;
  /** Blocked, about to run, or running. */
  readonly live?: string;
  readonly finished?: string;
  readonly dead?: string;
}

/**
 * Say in a line what a task is that a verb refused, and which verb is the one for it; `<id>` in an advice is the task's.
 * Status null: nothing is known of the task.
 */
export function refusedTask(id: string, status: string | null, advice: Advice): string {
  const what = status === null ? unknownTask(id) : `task ${id} ${sayStatus(status)}`;
  const hint = adviceFor(status, advice)?.replaceAll('<id>', id);
  return `taskq: ${what}${hint === undefined ? '' : ` — ${hint}`}`;
}

/** Say so of each, where people read it; a document of --json has it already. */
export function complainOfRefused(
  { format, complain }: Output,
  refused: readonly { readonly id: string; readonly status: string | null }[],
  advice: Advice,
): void {
  if (format === 'json') return;
  for (const { id, status } of refused) complain(refusedTask(id, status, advice));
}

/** Of an id that nothing is known of. */
export function unknownTask(id: string): string {
  return `no task ${id}: it never existed, or was deleted by purge, discard or its retention`;
}

/** What a task is, as the end of a sentence about it. */
export function sayStatus(status: string): string {
  switch (status) {
    case 'pending':
      return 'is waiting';
    case 'blocked':
      return 'is blocked: it waits for other tasks';
    case 'leased':
      return 'is about to run';
    case 'running':
      return 'is running';
    case 'completed':
      return 'has completed';
    case 'cancelled':
      return 'was cancelled';
    case 'expired':
      return 'expired before it started';
    case 'dead':
      return 'is a dead letter';
    default:
      return `is ${printable(status)}`;
  }
}

function adviceFor(status: string | null, { waiting, live, finished, dead }: Advice): string | undefined {
  switch (status) {
    case 'pending':
      return waiting;
    case 'blocked':
    case 'leased':
    case 'running':
      return live;
    case 'dead':
      return dead;
    default:
      return status === null ? undefined : finished;
  }
}
