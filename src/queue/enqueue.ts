import type { StoredEnqueueOptions } from '../domain/enqueue-options.ts';
import type { Queryable } from '../lib/database.ts';

/** What came of an enqueue: the task made, or (`created` false) the one that holds its key. */
export interface Enqueued {
  readonly id: string;
  readonly created: boolean;
}

export interface NewTask {
  readonly type: string;
  /** JSON text. It reaches the database as it is. */
  readonly payload: string;
  readonly options?: StoredEnqueueOptions & { readonly notify_done?: boolean };
}

/** Enqueue one task in the transaction of `db`. */
export async function enqueue(db: Queryable, task: NewTask): Promise<Enqueued> {
  const rows = await db.query<Enqueued>({
    name: 'taskq_enqueue',
    text: 'select id, created from taskq.enqueue($1, $2, $3)',
    values: [task.type, task.payload, JSON.stringify(task.options ?? {})],
  });
  return rows[0]!;
}

/**
 * Enqueue many tasks in the transaction of `db`, in one statement: some ten thousand at a time are best. Returns
 * one answer per task, in their order.
 */
export async function enqueueMany(db: Queryable, tasks: readonly NewTask[]): Promise<Enqueued[]> {
  const rows = await db.query<Enqueued & { place: string }>({
    name: 'taskq_enqueue_many',
    text: 'select place, id, created from taskq.enqueue_many($1)',
    values: [`[${tasks.map(asJson).join(',')}]`],
  });
  const answers = new Array<Enqueued>(tasks.length);
  for (const { place, id, created } of rows) answers[Number(place) - 1] = { id, created };
  return answers;
}

/** The options first: a payload's text is not looked into. */
function asJson(task: NewTask): string {
  const head = JSON.stringify({ ...task.options, type: task.type });
  return `${head.slice(0, -1)},"payload":${task.payload}}`;
}
