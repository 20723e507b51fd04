import type { WorkflowState } from '../../domain/workflow/state.ts';
import type { Queryable } from '../../lib/database.ts';
import type { EndSource } from './end-waiter.ts';

/** How a workflow ended, or that it has not (`live`). */
export interface WorkflowEndRow {
  readonly id: string;
  readonly name: string;
  readonly state: WorkflowState;
  /** How many steps have each status; null: it is live. */
  readonly steps: Readonly<Record<string, number>> | null;
  readonly live: boolean;
}

/** Get how these workflows ended, or that they have not. No row for an unknown id. */
export function getWorkflowEnds(db: Queryable, ids: readonly string[]): Promise<WorkflowEndRow[]> {
  return db.query<WorkflowEndRow>({
    text: 'select id, name, state, steps, live from taskq.get_workflow_ends($1)',
    values: [ids],
  });
}

/** The ends of workflows, as something to wait for. */
export const WORKFLOW_ENDS: EndSource<WorkflowEndRow> = {
  channel: 'taskq_workflow_done',
  async ask(db, ids) {
    await db.query({ text: 'select taskq.ask_workflow_ends($1)', values: [ids] });
  },
  get: getWorkflowEnds,
};
