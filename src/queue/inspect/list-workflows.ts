import type { Callback } from '../../domain/callback.ts';
import type { WorkflowState } from '../../domain/workflow/state.ts';
import type { Queryable } from '../../lib/database.ts';

/** A workflow. Times are ISO 8601. */
export interface ListedWorkflow {
  readonly id: string;
  readonly name: string;
  readonly state: WorkflowState;
  readonly is_open: boolean;
  /** Steps that have not ended. */
  readonly live_steps: number;
  /** Those of them that wait for their parents. */
  readonly waiting_steps: number;
  /** Dead, cancelled and expired steps, except those that another death has cancelled. */
  readonly deaths: number;
  readonly fail_fast: boolean;
  /** It fails after more deaths than this; null: not set. */
  readonly max_dead: number | null;
  /** The tasks enqueued at its end, when it fails, and when a step has ended. */
  readonly on_end: Callback | null;
  readonly on_failing: Callback | null;
  readonly on_step: Callback | null;
  readonly created_at: string;
  readonly created_by: string;
  readonly failing_at: string | null;
  readonly ended_at: string | null;
  readonly cancel_requested_at: string | null;
  readonly cancel_reason: string | null;
  /** The last day on which it is kept. */
  readonly drop_on: string | null;
}

export interface ListWorkflowsOptions {
  /** Only those before this id. */
  readonly after?: string | null;
  readonly limit?: number;
  readonly state?: WorkflowState | undefined;
}

/** List workflows, newest first. */
export async function listWorkflows(
  db: Queryable,
  { after = null, limit = 100, state }: ListWorkflowsOptions = {},
): Promise<ListedWorkflow[]> {
  const rows = await db.query<{ found: ListedWorkflow }>({
    text: `select to_jsonb(w) - 'extra' || jsonb_build_object('id', w.id::text) as found
      from taskq.list_workflows($1, $2, $3) as w`,
    values: [after, limit, JSON.stringify({ state })],
  });
  return rows.map(({ found }) => found);
}
