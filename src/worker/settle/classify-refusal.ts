import { isServerError, isUnanswered, type ServerError } from '../../lib/database.ts';
import { messageOf } from '../../lib/thrown.ts';
import { lacksOurs } from '../../queue/protocol/refusal.ts';

/**
 * Why the server refused to record outcomes. `transient`: the server, our session or our schema is in trouble, or another
 * transaction was in the way; the same statement may succeed later. `no partition`: history has no partition for some
 * row. `data`: the cause is a task, its outcome, or something an application has attached to our tables. `unclear`: any
 * of these.
 */
export type Refusal = 'transient' | 'no partition' | 'data' | 'unclear';

/**
 * SQLSTATE classes and codes about the server, the session or another transaction: connection, transaction state,
 * authorization, conflict, resources, a lock, an operator, the system, an old snapshot, configuration, internal errors.
 */
const TRANSIENT = /^(08|25|28|3D|40|53|55P03|57|58|72|F0|XX)/;
/** A bad value, a constraint, or an error raised by a trigger. */
const DATA = /^(22|23|P0)/;

/** Classify the error of a statement that records outcomes. */
export function classifyRefusal(error: unknown): Refusal {
  if (!isServerError(error)) return 'transient';
  if (isMissingPartition(error)) return 'no partition';
  const code = error.code ?? 'XX';
  if (TRANSIENT.test(code) || lacksOurs(error)) return 'transient';
  return DATA.test(code) ? 'data' : 'unclear';
}

/** Whether the server itself refused the statement, rather than failed to answer it. */
export function isAnswered(error: unknown): boolean {
  return isServerError(error) && !isUnanswered(error);
}

/** Whether another transaction was in the way, or a trigger raised it so (classes 40 and 55P03). */
export function isConflict(error: unknown): boolean {
  return isServerError(error) && /^(40|55P03)/.test(error.code ?? '');
}

/**
 * Check the place in the server that raises it: a trigger may raise 23514 too, and a table of the application may be
 * partitioned as well.
 */
function isMissingPartition({ code, routine, schema }: ServerError): boolean {
  return code === '23514' && routine === 'ExecFindPartition' && schema === 'taskq';
}

/**
 * Whether the worker's role may not call the function that enqueues follow-ups: its rights were granted that way on
 * purpose.
 */
export function mayNotEnqueue(error: unknown): boolean {
  return isServerError(error) && error.code === '42501' && / settle_and_enqueue$/.test(error.message);
}

/** Format a server's refusal: its message and SQLSTATE. */
export function describeRefusal(error: unknown): string {
  const state = isServerError(error) && error.code !== undefined ? ` (SQLSTATE ${error.code})` : '';
  return `${messageOf(error)}${state}`;
}
