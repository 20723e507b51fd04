import type { Queryable } from '../../lib/database.ts';
import type { ActingOnTasks } from './acting.ts';

export interface RerunOptions extends ActingOnTasks {
  /** JSON text that replaces the payload. */
  readonly payload?: string;
  readonly delayMs?: number;
}

export interface RerunAnswer {
  readonly id: string;
  /**
   * `key_held`: another task now has its key, or the task itself holds it for a period. `invalid_payload`: the schema
   * of the handler refuses the payload of a task that a filter selected. `refused`: the database refuses the task, as it
   * does a payload of more than 1 MB that was put in by hand.
   */
  readonly answer: 'enqueued' | 'key_held' | 'invalid_payload' | 'not_finished' | 'refused';
  /** The id of the new task. */
  readonly newId: string | null;
  readonly key: string | null;
  readonly holder: string | null;
  /** The status of a task that is not finished; null: no such task is known. */
  readonly status: string | null;
  /** Why the schema refuses the payload, or the database the task. */
  readonly problem: string | null;
}

/** Whether a bulk rerun reports this answer: a task that stopped matching after the search is no failure. */
export function rerunNeedsAttention({ answer }: RerunAnswer): boolean {
  return answer !== 'enqueued' && answer !== 'not_finished';
}

/** Run finished tasks again, each as a new task. Pass about `RERUN_PAGE` ids at most. Returns a row for each. */
export async function rerun(
  db: Queryable,
  ids: readonly string[],
  { payload, delayMs, queues, by, reason, filter }: RerunOptions = {},
): Promise<RerunAnswer[]> {
  const rows = await db.query<{
    id: string;
    answer: RerunAnswer['answer'];
    extra: { id?: string; key?: string; holder?: string; status?: string; error?: string } | null;
  }>({
    text: `select id, answer, extra from taskq.rerun($1, $2::jsonb || case when $3::jsonb is null then '{}' else jsonb_build_object('payload', $3::jsonb) end)`,
    values: [ids, JSON.stringify({ delay_ms: delayMs, queues, by, reason, filter }), payload ?? null],
  });
  return rows.map(({ id, answer, extra }) => ({
    id,
    answer,
    newId: extra?.id ?? null,
    key: extra?.key ?? null,
    holder: extra?.holder ?? null,
    status: extra?.status ?? null,
    problem: extra?.error ?? null,
  }));
}

/** Most tasks of a filter in one call: a payload can have a megabyte. */
export const RERUN_PAGE = 100;

/** Rerun the tasks for whose payload `problemOf` finds no problem; answer the others with theirs. */
export async function rerunValid<Task extends { readonly id: string }>(
  db: Queryable,
  tasks: readonly Task[],
  options: RerunOptions,
  problemOf: (task: Task) => Promise<string | null>,
): Promise<RerunAnswer[]> {
  const valid: string[] = [];
  const invalid: RerunAnswer[] = [];
  for (const task of tasks) {
    const problem = await problemOf(task);
    if (problem === null) valid.push(task.id);
    else invalid.push({ ...NOTHING, id: task.id, answer: 'invalid_payload', problem });
  }
  return [...invalid, ...(valid.length > 0 ? await rerun(db, valid, options) : [])];
}

const NOTHING = { newId: null, key: null, holder: null, status: null };
