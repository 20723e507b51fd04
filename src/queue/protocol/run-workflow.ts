import type { StoredWorkflowOptions } from '../../domain/workflow/workflow-options.ts';
import type { Queryable } from '../../lib/database.ts';
import { type AllowUnknown, type NewTask, taskJson } from './enqueue.ts';

/** A workflow to start. The options of its tasks name their steps. */
export interface NewWorkflow {
  readonly name: string;
  readonly options: StoredWorkflowOptions;
  readonly steps: readonly NewTask[];
}

/** A workflow that has started. */
export interface StartedWorkflow<Step extends string = string> {
  readonly id: string;
  /** The ids of its tasks, by step. */
  readonly steps: Readonly<Record<Step, string>>;
}

export interface StartOptions {
  readonly allowUnknown?: AllowUnknown;
  /** False: without NOTIFY. */
  readonly notify?: false | undefined;
}

/** Start a workflow in the transaction of `db`. */
export async function runWorkflow(
  db: Queryable,
  { name, options, steps }: NewWorkflow,
  { allowUnknown = [], notify }: StartOptions = {},
): Promise<StartedWorkflow> {
  const head = JSON.stringify({ name, ...options }).slice(0, -1);
  // The text of payloads is passed on unchanged.
  const workflow = `${head},"steps":[${steps.map((step) => taskJson(step)).join(',')}]}`;
  const rows = await db.query<{ id: string; extra: { steps: Record<string, string> } }>({
    name: 'taskq_run_workflow',
    text: 'select id, extra from taskq.run_workflow($1, $2)',
    values: [workflow, JSON.stringify({ allow_unknown: allowUnknown, notify })],
  });
  const { id, extra } = rows[0]!;
  return { id, steps: extra.steps };
}
