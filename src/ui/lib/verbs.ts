import type { Verb } from './operations.ts';
import { FINISHED_STATUSES, LIVE_STATUSES, type TaskStatus } from './task.ts';

export interface TaskVerb {
  readonly verb: Verb;
  readonly label: string;
  /** The statuses a task must have for it. */
  readonly statuses: readonly TaskStatus[];
  /** Its effect, for the dialog. */
  readonly effect: string;
  /** Its text in the record. */
  readonly done: string;
  /** It destroys something for good: a dialog asks first. */
  readonly isDestructive?: true;
}

/** The verbs of an operator for a task, besides edit. */
export const TASK_VERBS: readonly TaskVerb[] = [
  {
    ...{ verb: 'retry', label: 'Retry', done: 'Retried', statuses: ['pending', 'blocked'] },
    effect: 'It becomes due now.',
  },
  {
    ...{ verb: 'revive', label: 'Revive', done: 'Revived', statuses: ['dead'] },
    effect: 'It runs again under the same id, with all attempts.',
  },
  {
    ...{ verb: 'rerun', label: 'Rerun', done: 'Ran again', statuses: FINISHED_STATUSES },
    effect: 'It runs again as a new task.',
  },
  {
    ...{ verb: 'cancel', label: 'Cancel', done: 'Cancelled', statuses: LIVE_STATUSES },
    effect: 'It does not run. The worker of a running task is asked to end it.',
    isDestructive: true,
  },
  {
    ...{ verb: 'discard', label: 'Discard', done: 'Discarded', statuses: ['dead'], isDestructive: true },
    effect: 'The dead letter is deleted for good.',
  },
  {
    ...{ verb: 'purge', label: 'Purge', done: 'Purged', statuses: FINISHED_STATUSES, isDestructive: true },
    effect: 'The finished task is deleted for good.',
  },
];

/** The verbs that fit at least one of these statuses; null: any. */
export function verbsFor(statuses: readonly TaskStatus[] | null, verbs = TASK_VERBS): readonly TaskVerb[] {
  return verbs.filter((one) => statuses === null || one.statuses.some((status) => statuses.includes(status)));
}
