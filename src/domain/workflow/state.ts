import { badOption } from '../../lib/bad-option.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { shown } from '../../lib/shown.ts';

/**
 * What a workflow is doing. `open`: it runs, and steps can be added; `stuck`: the remaining steps wait for a dead step
 * to be revived; `completed`: every last step has completed.
 */
export type WorkflowState = (typeof WORKFLOW_STATES)[number];

export const WORKFLOW_STATES = ['open', 'running', 'stuck', 'completed', 'failed', 'cancelled'] as const;

/** What happens to a step whose parent ends dead, cancelled or expired. */
export type OnDeath = (typeof ON_DEATH)[number];

/** `cancel`: it is cancelled; `continue`: it runs; `wait`: it waits until the parent is revived. */
export const ON_DEATH = ['cancel', 'continue', 'wait'] as const;

/** Returns a state if it is one. Throws TaskqError `bad_option`. */
export function checkedState(text: unknown, what = 'state'): WorkflowState {
  const known = WORKFLOW_STATES.find((state) => state === text);
  if (known !== undefined) return known;
  throw badOption(
    `${what} ${shown(text)}: expected one of ${WORKFLOW_STATES.join(', ')}${didYouMean(String(text), WORKFLOW_STATES)}`,
  );
}
