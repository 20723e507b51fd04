import type { Row } from '../rows.ts';
import type { Session } from '../session.ts';

export interface Started {
  readonly id: string;
  readonly steps: Readonly<Record<string, string>>;
}

/** Starts a workflow, whose steps are of the type `work` unless they say so. */
export async function runWorkflow(
  session: Session,
  steps: readonly object[],
  workflow: object = {},
): Promise<Started> {
  const { id, extra } = (await session.row<{ id: string; extra: { steps: Record<string, string> } }>(
    'select id, extra from taskq.run_workflow($1)',
    { name: 'flow', steps: steps.map((step) => ({ type: 'work', ...step })), ...workflow },
  ))!;
  return { id, steps: extra.steps };
}

/** What each step is, in the order of their names. */
export function stepRows(session: Session, workflow: string): Promise<Row[]> {
  return session.rows(
    `select s.step, s.status, s.parents_left, t.status::text as task, t.gate, t.available_at = 'infinity' as never
     from taskq.workflow_steps s left join taskq.tasks t on t.id = s.task_id and t.step = s.step
     where s.workflow_id = $1 order by s.step`,
    workflow,
  );
}

/** The edges as text: `a -> b cancel`. */
export async function edges(session: Session, workflow: string): Promise<string[]> {
  const found = await session.rows<{ edge: string }>(
    `select format('%s -> %s %s', parent, child, on_death) as edge from taskq.workflow_edges
     where workflow_id = $1 and not is_met order by child, parent`,
    workflow,
  );
  return found.map(({ edge }) => edge);
}

/** All that workflows have stored, and the tasks. */
export function stored(session: Session): Promise<number> {
  return session
    .value(
      `select (select count(*) from taskq.tasks) + (select count(*) from taskq.workflows)
       + (select count(*) from taskq.workflow_steps) + (select count(*) from taskq.workflow_edges)
       + (select count(*) from taskq.workflow_asks)`,
    )
    .then(Number);
}
