import type { StoredEnqueueOptions } from '../../domain/enqueue-options.ts';
import type { Queryable } from '../../lib/database.ts';

/**
 * What an enqueue did. `created`: a new task. `held`: nothing, because its key is held. `replaced`: it replaced the
 * holder, which was waiting. `again`: the holder is running, and this task runs after it. `key_of_another`, for many
 * tasks only: nothing, because the task to be replaced has another type or group.
 */
export type EnqueueAnswer = 'created' | 'held' | 'replaced' | 'again' | 'key_of_another';

/** The answer to an enqueue: the new task or, if `created` is false, the task that holds its key. */
export interface Enqueued {
  readonly id: string;
  readonly created: boolean;
  readonly answer: EnqueueAnswer;
  /**
   * The id that the task gets when the running holder has ended; null unless the answer is `again`. If the holder is
   * retried instead, the retry runs the task, under the id of the holder. Until the holder ends, no task has this id: to
   * wait for the new task, wait for the holder first.
   */
  readonly nextId: string | null;
}

interface EnqueuedRow {
  readonly id: string;
  readonly created: boolean;
  readonly extra: { readonly answer: EnqueueAnswer; readonly next_id?: string } | null;
}

function enqueuedOf({ id, created, extra }: EnqueuedRow): Enqueued {
  const answer = extra?.answer ?? (created ? 'created' : 'held');
  return { id, created, answer, nextId: extra?.next_id ?? null };
}

export interface NewTask {
  readonly type: string;
  /** JSON text, passed to the database unchanged. */
  readonly payload: string;
  readonly options?: StoredEnqueueOptions & { readonly notify_done?: boolean; readonly allow_unknown?: true };
}

/** Unknown types that the database accepts: these, or `true` for all. It refuses any other. */
export type AllowUnknown = true | readonly string[];

/** Enqueue one task in the transaction of `db`; `notify` false: without NOTIFY. */
export async function enqueue(
  db: Queryable,
  { type, payload, options }: NewTask,
  allowUnknown: AllowUnknown = [],
  notify?: false,
): Promise<Enqueued> {
  const rows = await db.query<EnqueuedRow>({
    name: 'taskq_enqueue',
    text: 'select id, created, extra from taskq.enqueue($1, $2, $3)',
    values: [type, payload, JSON.stringify({ ...options, allow_unknown: allowUnknown, notify })],
  });
  return enqueuedOf(rows[0]!);
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
  const texts = tasks.map((task) => taskJson(task, common));
  const options = { ...common, allow_unknown: allowUnknown, notify };
  return { count: tasks.length, values: [`[${texts.join(',')}]`, JSON.stringify(options)] };
}

/** Enqueue in the transaction of `db`, in one statement. Returns one answer per task, in their order. */
export async function enqueueMany(db: Queryable, { count, values }: Bulk): Promise<Enqueued[]> {
  const rows = await db.query<EnqueuedRow & { place: string }>({
    name: 'taskq_enqueue_many',
    text: 'select place, id, created, extra from taskq.enqueue_many($1, $2)',
    values,
  });
  const answers = new Array<Enqueued>(count);
  for (const row of rows) answers[Number(row.place) - 1] = enqueuedOf(row);
  return answers;
}

/** A task of a bulk that could not replace the holder of its key, which has another type or group. */
export interface Refusal {
  /** Its place in the bulk, from 1 on. */
  readonly place: number;
  readonly holder: string;
  readonly type: string;
  /** The group of the holder; null: none. */
  readonly group: string | null;
}

/** The number of tasks of a bulk by answer; the keys of the others were held. */
export interface EnqueuedCounts {
  readonly created: number;
  readonly replaced: number;
  readonly again: number;
  readonly refused: number;
}

/** The counts, and the refused tasks. */
export interface EnqueuedBulk extends EnqueuedCounts {
  readonly refusals: readonly Refusal[];
  /** The first and the last id assigned; null: no task was created. */
  readonly ends: readonly [first: string, last: string] | null;
}

/** The same without the ids of all tasks. */
export async function enqueueCounted(db: Queryable, { values }: Bulk): Promise<EnqueuedBulk> {
  const rows = await db.query<
    Omit<EnqueuedBulk, 'refused' | 'refusals'> & { readonly refusals: Refusal[] | null }
  >({
    name: 'taskq_enqueue_counted',
    text: `select count(*) filter (where created)::integer as created,
        case when bool_or(created) then array[
          (min(id) filter (where created))::text, (max(id) filter (where created))::text
        ] end as ends,
        count(*) filter (where extra ->> 'answer' = 'replaced')::integer as replaced,
        count(*) filter (where extra ->> 'answer' = 'again')::integer as again,
        json_agg(
          json_build_object(
            'place', place, 'holder', id::text, 'type', extra ->> 'type', 'group', extra ->> 'group'
          ) order by place
        )
          filter (where extra ->> 'answer' = 'key_of_another') as refusals
      from taskq.enqueue_many($1, $2)`,
    values,
  });
  const { refusals, ...counts } = rows[0]!;
  return { ...counts, refused: refusals?.length ?? 0, refusals: refusals ?? [] };
}

/** A task's type and options, without its payload. */
type TaskFields = Readonly<Record<string, unknown>>;

/** The JSON of a task without what is common to all. The payload's text is not parsed. */
export function taskJson({ type, payload, options = {} }: NewTask, common: TaskFields = {}): string {
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
