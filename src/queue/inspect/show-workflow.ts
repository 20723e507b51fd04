import type { TaskStatus } from '../../domain/task.ts';
import type { OnDeath } from '../../domain/workflow/state.ts';
import type { Queryable } from '../../lib/database.ts';
import type { ListedWorkflow } from './list-workflows.ts';

/** A step of a workflow. Times are ISO 8601. */
export interface ShownStep {
  readonly step: string;
  readonly task_id: string;
  readonly type: string;
  readonly queue: string;
  /** That of its task; `gone`: its row was deleted by hand. */
  readonly status: TaskStatus | 'gone';
  /** It waits for its parents. */
  readonly waits: boolean;
  /** Failed attempts. */
  readonly attempts: number;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** Null: it is not pending. */
  readonly due_at: string | null;
  /** Why it is dead or cancelled. */
  readonly reason: string | null;
  /** The parent whose death cancelled it. */
  readonly cancelled_by: string | null;
  /** In the order of their tasks. */
  readonly parents: readonly ShownParent[];
}

export interface ShownParent {
  readonly step: string;
  readonly on_death: OnDeath;
  /** The step does not, or no longer, wait for it. */
  readonly is_met: boolean;
}

/** A workflow with all its steps, in the order of their tasks. */
export interface ShownWorkflow extends ListedWorkflow {
  readonly steps: readonly ShownStep[];
}

/** Show a workflow. Undefined: there is none, or it outlived its retention. */
export async function showWorkflow(db: Queryable, id: string): Promise<ShownWorkflow | undefined> {
  const rows = await db.query<{ workflow: ShownWorkflow | null }>({
    text: 'select taskq.show_workflow($1) as workflow',
    values: [id],
  });
  return rows[0]!.workflow ?? undefined;
}
