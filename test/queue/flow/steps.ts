import type { Session } from '../session.ts';

export interface GivenStep {
  readonly step: string;
  /** Its parents, by name. */
  readonly after?: readonly string[];
  /** Of all its parents; `cancel` by default. */
  readonly on_death?: string;
  /** The parents whose ends have been counted. */
  readonly met?: readonly string[];
  /** `waiting` if it has parents, else `released`. */
  readonly status?: string;
  readonly cancelled_by?: string;
  readonly result?: unknown;
  readonly result_note?: object;
  /** Options of its task. */
  readonly options?: object;
  /** Columns of its live task. */
  readonly task?: Readonly<Record<string, unknown>>;
}

/** Inserts a workflow whose steps are as told, without what moves it on. Returns its id and those of its tasks. */
export async function insertWorkflow(
  session: Pick<Session, 'rows' | 'value'>,
  steps: readonly GivenStep[],
  workflow: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly id: string; readonly tasks: Readonly<Record<string, string>> }> {
  const id = await session.value<string>("insert into taskq.workflows (name) values ('import') returning id");
  await change(session, 'workflows', id, workflow);
  const tasks: Record<string, string> = {};
  for (const given of steps) tasks[given.step] = await insertStep(session, id, given);
  for (const { step, after = [], on_death = 'cancel', met = [] } of steps)
    for (const parent of after)
      await session.rows(
        'insert into taskq.workflow_edges (workflow_id, parent, child, on_death, is_met) values ($1, $2, $3, $4, $5)',
        ...[id, parent, step, on_death, met.includes(parent)],
      );
  return { id, tasks };
}

async function insertStep(
  session: Pick<Session, 'rows' | 'value'>,
  workflow: string,
  { step, after = [], met = [], options = {}, task = {}, ...given }: GivenStep,
): Promise<string> {
  const status = given.status ?? (after.length > met.length ? 'waiting' : 'released');
  const id = await session.value<string>(
    "select id from taskq.enqueue('work', $1, $2)",
    JSON.stringify({ step }),
    { allow_unknown: true, ...options },
  );
  await session.rows(
    `insert into taskq.workflow_steps (
       workflow_id, task_id, step, status, parents_left, queue, type, cancelled_by, result, result_note, ended_at
     )
     select $1, $2, $3, $4, $5, t.queue, t.type, $6, $7, $8, case when $9 then clock_timestamp() end
     from taskq.tasks t where t.id = $2`,
    ...[workflow, id, step, status, after.length - met.length, given.cancelled_by ?? null],
    ...[given.result, given.result_note].map((value) => (value === undefined ? null : JSON.stringify(value))),
    !['waiting', 'released'].includes(status),
  );
  await change(session, 'tasks', id, {
    workflow_id: workflow,
    step,
    ...(status === 'waiting' && { gate: 'p', status: 'blocked', available_at: 'infinity' }),
    ...task,
  });
  if (status === 'dead')
    await session.rows(
      "select taskq.move_to_dead(array[$1::bigint], array['hopeless'], clock_timestamp())",
      id,
    );
  else if (!['waiting', 'released'].includes(status))
    await session.rows('delete from taskq.tasks where id = $1', id);
  return id;
}

async function change(
  session: Pick<Session, 'rows'>,
  table: 'tasks' | 'workflows',
  id: string,
  columns: Readonly<Record<string, unknown>>,
): Promise<void> {
  for (const [column, value] of Object.entries(columns))
    await session.rows(`update taskq.${table} set ${column} = $2 where id = $1`, id, value);
}
