import { expect } from 'vitest';
import type { Session } from '../session.ts';
import { useDatabase } from '../session.ts';
import { type Claimed, outcome, type PlainWorker, registerWorker } from '../worker.ts';

export interface Step {
  readonly step: string;
  /** The names of its parents; how a death is taken after a colon, `cancel` by default: `a:wait`. */
  readonly after?: readonly string[];
  readonly type?: string;
  /** Columns of its task. */
  readonly task?: Readonly<Record<string, unknown>>;
}

/** A database for each test, and what tests of workflows do in it. */
export function useWorkflows() {
  const queue = useDatabase();
  const admin = {
    rows: <Row extends object>(text: string, ...values: readonly unknown[]) =>
      queue.admin.rows<Row>(text, ...values),
  };
  return {
    queue,
    worker: async () => registerWorker(await queue.session()),

    /** The names of the steps that a claim of up to ten tasks takes. */
    claimed: async (by: PlainWorker) => (await claimSteps(by)).map(({ step }) => step),

    /** The status of each step. */
    statuses: async (id: string): Promise<Record<string, string>> => {
      const rows = await admin.rows<{ step: string; status: string }>(
        'select step, status from taskq.workflow_steps where workflow_id = $1 order by step',
        id,
      );
      return Object.fromEntries(rows.map(({ step, status }) => [step, status]));
    },

    workflow: async (id: string) => {
      const [row] = await admin.rows<Readonly<Record<string, unknown>>>(
        'select * from taskq.workflows where id = $1',
        id,
      );
      return row;
    },

    /** The task of a step, wherever it is. */
    taskOf: async (id: string, step: string) => taskOf(queue.admin, id, step),

    /** What counters say equals what the rows say, and no ask is left: nothing is lost. */
    expectSettled: async (id: string) => {
      expect(await admin.rows('select * from taskq.workflow_asks')).toEqual([]);
      const [counts] = await admin.rows(
        `select w.live_steps = (select count(*) from taskq.workflow_steps s
             where s.workflow_id = w.id and s.status in ('waiting', 'released')) as live,
           w.waiting_steps = (select count(*) from taskq.workflow_steps s
             where s.workflow_id = w.id and s.status = 'waiting') as waiting
         from taskq.workflows w where w.id = $1`,
        id,
      );
      expect(counts).toEqual({ live: true, waiting: true });
    },
  };
}

export type ClaimedStep = Claimed & { readonly step: string };

/** Claims up to this many tasks and says of each which step it is. */
export async function claimSteps(by: PlainWorker, start = 10): Promise<ClaimedStep[]> {
  const tasks = await by.claim({ start });
  const names = await by.session.rows<{ id: string; step: string }>(
    'select id, step from taskq.tasks where id = any ($1)',
    tasks.map(({ id }) => id),
  );
  const stepOf = new Map(names.map(({ id, step }) => [id, step]));
  return tasks.map((task) => ({ ...task, step: stepOf.get(task.id)! }));
}

export function settleAll(by: PlainWorker, tasks: readonly Claimed[], kind = 'completed') {
  return by.settle(...tasks.map((task) => outcome(task, kind)));
}

export async function taskOf(session: Session, id: string, step: string): Promise<string> {
  return session.value(
    'select task_id from taskq.workflow_steps where workflow_id = $1 and step = $2',
    id,
    step,
  );
}

/** Inserts a workflow by SQL. Returns its id. */
export async function insertWorkflow(
  session: Session,
  steps: readonly Step[],
  columns: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const known = new Map<string, string>();
  const waiting = steps.filter(({ after = [] }) => after.length > 0).length;
  const row = {
    name: 'test',
    state: columns.is_open === true ? 'open' : 'running',
    live_steps: steps.length,
    waiting_steps: waiting,
    ...columns,
  };
  const id = await session.value<string>(
    `insert into taskq.workflows (${Object.keys(row).join(', ')})
     values (${Object.keys(row).map((_, n) => `$${n + 1}`)}) returning id`,
    ...Object.values(row).map((value) => (isObject(value) ? JSON.stringify(value) : value)),
  );
  for (const { step, after = [], type = 'work', task = {} } of steps) {
    const waits = after.length > 0;
    const columnsOfTask = {
      available_at: waits ? 'infinity' : new Date(),
      not_before: new Date(),
      created_at: new Date(),
      status: waits ? 'blocked' : 'pending',
      gate: waits ? 'p' : null,
      type,
      workflow_id: id,
      step,
      ...task,
    };
    const taskId = await session.value<string>(
      `insert into taskq.tasks (${Object.keys(columnsOfTask).join(', ')})
       values (${Object.keys(columnsOfTask).map((_, n) => `$${n + 1}`)}) returning id`,
      ...Object.values(columnsOfTask),
    );
    known.set(step, taskId);
    await session.rows(
      `insert into taskq.workflow_steps (workflow_id, task_id, parents_left, step, status, queue, type)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      id,
      taskId,
      after.length,
      step,
      waits ? 'waiting' : 'released',
      (task.queue as string | undefined) ?? 'default',
      type,
    );
    for (const parent of after) {
      const [name, onDeath = 'cancel'] = parent.split(':');
      await session.rows(
        'insert into taskq.workflow_edges (workflow_id, parent, child, on_death) values ($1, $2, $3, $4)',
        id,
        name,
        step,
        onDeath,
      );
    }
  }
  return id;
}

/** Adds a step to a workflow, as `enqueue` does: nothing of its parents is locked or read. */
export async function addStep(session: Session, id: string, { step, after = [], type = 'work' }: Step) {
  const waits = after.length > 0;
  await session.rows(
    `with task as (
       insert into taskq.tasks (available_at, not_before, created_at, status, gate, type, workflow_id, step)
       values ($3, now(), now(), $4, $5, $6, $1, $2) returning id
     ),
     step as (
       insert into taskq.workflow_steps (workflow_id, task_id, parents_left, step, status, queue, type)
       select $1, task.id, $7, $2, $8, 'default', $6 from task returning workflow_id, step
     ),
     edge as (
       insert into taskq.workflow_edges (workflow_id, parent, child)
       select step.workflow_id, p.name, step.step from step cross join unnest($9::text[]) as p (name)
     )
     insert into taskq.workflow_asks (due_at, workflow_id, live, waiting, steps)
     select clock_timestamp(), $1, 1, $10, $9 from step`,
    id,
    step,
    waits ? 'infinity' : new Date(),
    waits ? 'blocked' : 'pending',
    waits ? 'p' : null,
    type,
    after.length,
    waits ? 'waiting' : 'released',
    after,
    waits ? 1 : 0,
  );
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof Date);
}
