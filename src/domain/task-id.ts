import { badOption } from '../lib/bad-option.ts';

/**
 * Returns a task's id if it is valid: a bigint from 1, as text. Throws TaskqError `bad_option`, which calls it `what`.
 */
export function checkedTaskId(text: unknown, what = 'id'): string {
  return checkedId(text, what, 'task');
}

/** The same for the id of a workflow. */
export function checkedWorkflowId(text: unknown, what = 'id'): string {
  return checkedId(text, what, 'workflow');
}

/** The same for the id of an operation. */
export function checkedOperationId(text: unknown, what = 'id'): string {
  return checkedId(text, what, 'operation');
}

/**
 * Accepts where a page of tasks ends: an id or, for dead letters, the time of death in microseconds and an id. Throws
 * TaskqError.
 */
export function checkedAfter(after: string): string {
  return /^-?\d{1,17}-\d{1,18}$/.test(after) ? after : checkedTaskId(after, 'after');
}

function checkedId(text: unknown, what: string, of: 'task' | 'workflow' | 'operation'): string {
  if (typeof text === 'string' && /^[1-9]\d{0,18}$/.test(text) && BigInt(text) <= MAX_ID) return text;
  const shown = typeof text === 'string' ? JSON.stringify(text) : `of type ${typeof text}`;
  const expected =
    typeof text === 'string'
      ? `the number of ${of === 'operation' ? 'an' : 'a'} ${of}, such as 12`
      : "the id as text, such as '12'";
  throw badOption(`${what} ${shown}: expected ${expected}`);
}

const MAX_ID = 2n ** 63n - 1n;
