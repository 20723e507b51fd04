import { isServerError, type ServerError } from '../../lib/database.ts';

/**
 * Why the server has refused to record outcomes. `trouble`: the server or our session is in trouble, or another
 * transaction was in the way; the same may succeed later. `no partition`: history has no partition for some row. `data`:
 * some task, its outcome, or what an application has attached to our tables. `unclear`: either.
 */
export type Refusal = 'trouble' | 'no partition' | 'data' | 'unclear';

/**
 * The classes of SQLSTATE, and the states, that speak of the server, the session or another transaction: connection,
 * transaction state, authorization, conflict, resources, a lock, an operator, the system, an old snapshot,
 * configuration, the inside of the server.
 */
const TROUBLE = /^(08|25|28|3D|40|53|55P03|57|58|72|F0|XX)/;
/** A bad value, a constraint, what somebody's trigger raises. */
const DATA = /^(22|23|P0)/;

/** Judge what a statement that records outcomes has failed with. */
export function judgeRefusal(error: unknown): Refusal {
  if (!isServerError(error)) return 'trouble';
  if (isMissingPartition(error)) return 'no partition';
  const code = error.code ?? 'XX';
  if (TROUBLE.test(code)) return 'trouble';
  return DATA.test(code) ? 'data' : 'unclear';
}

/**
 * By the place in the server that raises it: a trigger may raise 23514 as well, and a table of the application may be
 * partitioned too.
 */
function isMissingPartition({ code, routine, schema }: ServerError): boolean {
  return code === '23514' && routine === 'ExecFindPartition' && schema === 'taskq';
}
