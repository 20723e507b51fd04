import type { WorkflowState } from '../../domain/workflow/state.ts';
import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

export interface CancelWorkflowAnswer {
  /** `requested`: some steps still run; `not_live`: it has ended, or there is none. */
  readonly answer: 'cancelled' | 'requested' | 'not_live';
  /** The state of one that has ended; null: it has not, or there is none. */
  readonly state: WorkflowState | null;
}

/** Cancel a workflow: see `taskq.cancel_workflow`. */
export async function cancelWorkflow(
  db: Queryable,
  id: string,
  { reason = null, by }: Acting,
): Promise<CancelWorkflowAnswer> {
  const rows = await db.query<CancelWorkflowAnswer>({
    text: "select answer, extra ->> 'state' as state from taskq.cancel_workflow($1, $2, $3)",
    values: [id, reason, JSON.stringify({ by })],
  });
  return rows[0]!;
}
