import type { Output } from '../run/output.ts';
import { printable } from './printable.ts';

/** What to do with a task that a verb refused, by the task's state, as a sentence without a full stop. */
export interface Advice {
  readonly waiting?: string;
  /** Blocked, about to run, or running. */
  readonly live?: string;
  readonly finished?: string;
  readonly dead?: string;
}

/** What to do with a finished task that a verb on live or dead ones refused. */
export const RUN_AGAIN = 'run it again: taskq rerun <id>, or a step with its workflow: taskq workflow retry';

/**
 * Describe in a line the state of a task that a verb refused, and which verb to use instead; `<id>` in the advice is
 * the task's. Status null: the task is not known.
 */
export function refusedTask(id: string, status: string | null, advice: Advice): string {
  const what = status === null ? unknownTask(id) : `task ${id} ${statusText(status)}`;
  const hint = adviceFor(status, advice)?.replaceAll('<id>', id);
  return `taskq: ${what}${hint === undefined ? '' : ` — ${hint}`}`;
}

/** Print that line for each task, for people; with --json the document already has it. */
export function complainOfRefused(
  { format, complain }: Output,
  refused: readonly { readonly id: string; readonly status: string | null }[],
  advice: Advice,
): void {
  if (format === 'json') return;
  for (const { id, status } of refused) complain(refusedTask(id, status, advice));
}

/** The text for an unknown id. */
export function unknownTask(id: string): string {
  return `no task ${id}: it never existed, or was deleted by purge, discard or its retention`;
}

/** The state of a task, as the end of a sentence about it. */
export function statusText(status: string): string {
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
