import type { Completed } from '../../domain/outcome.ts';
import type { LastStatement } from '../../lib/open-transaction.ts';
import { asJson, type Settlement } from './settle.ts';

/** The setting that marks a transaction begun for a handler; one that the handler begins itself lacks it. */
export const MARK = 'taskq.transaction';

/** The completion of a task: the last statement of its handler's transaction, in which `MARK` has this value. */
export function completeTransaction(
  workerId: number,
  completion: Settlement & { readonly outcome: Completed },
  mark: string,
): LastStatement {
  return {
    text: 'select taskq.complete_transaction($1, $2, $3)',
    values: [workerId, asJson(completion), mark],
  };
}
