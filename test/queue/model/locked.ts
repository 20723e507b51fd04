import { type Action, type Surroundings, step } from './step.ts';
import { isHeld, isLive, type Task } from './task.ts';

/** What another session is answered while a transaction that did something to the task is open. */
export type Meanwhile =
  /** The first one locks nothing. */
  | 'all'
  /** The same as if nothing had happened: it does not come to the locked row, or does not need to write it. */
  | 'as before'
  /** An operator's verb: it waits for the end of the transaction, a second at most. */
  | 'waits'
  /** `busy`, or nothing where the row is passed over. */
  | { readonly answer: string };

/** What the second session is answered. */
export function meanwhile(task: Task, first: Action, second: Action, around: Surroundings): Meanwhile {
  if (!locks(task, first, around)) return 'all';
  switch (second.verb) {
    case 'claim':
    case 'rescue':
    case 'expire':
      return { answer: '' };
    case 'heartbeat':
      if (!holds(task, second) || !locks(task, second, around)) return 'as before';
      return { answer: `1:${second.lease} busy${task.cancelRequested ? ' cancel' : ''}` };
    case 'settle':
    case 'give_back':
      return holds(task, second) ? { answer: `1:${second.lease} busy` } : 'as before';
    case 'cancel':
      return isLive(task) ? 'waits' : 'as before';
    case 'add_dead':
      return isLive(task) || task.status === 'dead' ? 'waits' : 'as before';
    case 'revive':
    case 'discard':
      return task.status === 'dead' ? 'waits' : 'as before';
    default:
      return 'as before';
  }
}

/** An action leaves the row locked if it writes it, and where an operator's verb looks at it. */
function locks(task: Task, action: Action, around: Surroundings): boolean {
  if (action.verb === 'cancel' || action.verb === 'add_dead') {
    return isLive(task) || (action.verb === 'add_dead' && task.status === 'dead');
  }
  const after = step(task, action, around).task;
  return (Object.keys(task) as (keyof Task)[]).some(
    (column) => column !== 'leases' && after[column] !== task[column],
  );
}

const holds = (task: Task, action: Action & { lease: number }) =>
  !('by' in action) && isHeld(task) && task.leaseNo === action.lease;
