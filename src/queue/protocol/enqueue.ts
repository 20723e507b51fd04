import type { StoredEnqueueOptions } from '../../domain/enqueue-options.ts';
import type { Queryable } from '../../lib/database.ts';

/** The answer to an enqueue: the new task or, if `created` is false, the task that holds its key. */
export interface Enqueued {
  readonly id: string;
  readonly created: boolean;
}

export interface NewTask {
  readonly type: string;
  /** JSON text, passed to the database unchanged. */
  readonly payload: string;
  readonly options?: StoredEnqueueOptions & { readonly notify_done?: boolean };
}

/** Types that the database need not know: these, or `true` for all. It refuses any other unknown type. */
export type AllowUnknown = true | readonly string[];

/** Enqueue one task in the transaction of `db`; `notify` false: without NOTIFY. */
export async function enqueue(
  db: Queryable,
  { type, payload, options }: NewTask,
  allowUnknown: AllowUnknown = [],
  notify?: false,
): Promise<Enqueued> {
  const rows = await db.query<Enqueued>({
    name: 'taskq_enqueue',
    text: 'select id, created from taskq.enqueue($1, $2, $3)',
    values: [type, payload, JSON.stringify({ ...options, allow_unknown: allowUnknown, notify })],
  });
  return rows[0]!;
}

/** Tasks in the form that one call of `taskq.enqueue_many` takes. */
export interface Bulk {
  readonly count: number;
  readonly values: readonly [tasks: string, options: string];
}

/** More tasks in one call gain nothing. */
export const BULK_TASKS = 10_000;
/** Limit the payload text of one statement, in characters. */
export const BULK_LENGTH = 2 * 1024 * 1024;

/** Build the arguments of one call, with the options common to all tasks written once. */
export function bulkOf(tasks: readonly NewTask[], allowUnknown: AllowUnknown = [], notify?: false): Bulk {
  const common = sharedFields(tasks);
  const texts = tasks.map((task) => taskText(task, common));
  const options = { ...common, allow_unknown: allowUnknown, notify };
  return { count: tasks.length, values: [`[${texts.join(',')}]`, JSON.stringify(options)] };
}

/** Enqueue in the transaction of `db`, in one statement. Returns one answer per task, in their order. */
export async function enqueueMany(db: Queryable, { count, values }: Bulk): Promise<Enqueued[]> {
  const rows = await db.query<Enqueued & { place: string }>({
    name: 'taskq_enqueue_many',
    text: 'select place, id, created from taskq.enqueue_many($1, $2)',
    values,
  });
  const answers = new Array<Enqueued>(count);
  for (const { place, id, created } of rows) answers[Number(place) - 1] = { id, created };
  return answers;
}

/** The same without the ids. Returns how many tasks were created; the keys of the others were held. */
export async function enqueueCounted(db: Queryable, { values }: Bulk): Promise<number> {
  const rows = await db.query<{ created: number }>({
    name: 'taskq_enqueue_counted',
    text: 'select count(*) filter (where created)::integer as created from taskq.enqueue_many($1, $2)',
    values,
  });
  return rows[0]!.created;
}

/** A task's type and options, without its payload. */
type TaskFields = Readonly<Record<string, unknown>>;

/** The JSON of a task without what is common to all. The payload's text is not parsed. */
function taskText({ type, payload, options = {} }: NewTask, common: TaskFields): string {
  let text = common.type === undefined ? `{"type":${JSON.stringify(type)},` : '{';
  for (const name in options) {
    if (common[name] !== undefined) continue;
    const own = JSON.stringify(options[name as keyof typeof options]);
    if (own !== undefined) text += `"${name}":${own},`;
  }
  return `${text}"payload":${payload}}`;
}

/** The fields that all of these tasks set to the same value. */
function sharedFields(tasks: readonly NewTask[]): TaskFields {
  const [first] = tasks;
  if (first === undefined) return {};
  // Usually all tasks share one options object.
  const others = tasks
    .map(({ options }) => options as TaskFields | undefined)
    .filter((options) => options !== first.options);
  const alike = Object.entries(first.options ?? {}).filter(([name, value]) => {
    const isAlike = likenessTo(value);
    return others.every((options) => isAlike(options?.[name]));
  });
  const type = tasks.every((task) => task.type === first.type) ? first.type : undefined;
  return { ...Object.fromEntries(alike), type };
}

function likenessTo(value: unknown): (other: unknown) => boolean {
  if (typeof value !== 'object') return (other) => other === value;
  const text = JSON.stringify(value);
  return (other) => other === value || JSON.stringify(other) === text;
}
