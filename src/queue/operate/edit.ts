import type { StoredChanges } from '../../domain/edit-changes.ts';
import type { Queryable } from '../../lib/database.ts';
import type { ActingOnTasks } from './acting.ts';

export interface EditAnswer {
  readonly id: string;
  /**
   * `busy`: another transaction keeps it locked. `key_held`: another task has its key in the new queue. `refused`: it
   * would expire before its new time, its schedule needs it in its queue, or the database refuses the change.
   */
  readonly answer: 'edited' | 'busy' | 'key_held' | 'refused' | 'not_waiting';
  readonly key: string | null;
  readonly holder: string | null;
  /** The status of a task that does not wait; null: no such task is known. */
  readonly status: string | null;
  /** Why it is refused. */
  readonly problem: string | null;
}

/** Whether a bulk edit reports this answer: a task that was claimed or ended after the search is no failure. */
export function editNeedsAttention({ answer }: EditAnswer): boolean {
  return answer !== 'edited' && answer !== 'not_waiting';
}

/** Most tasks of a filter in one call: its audit record has their payloads. */
export const EDIT_PAGE = 200;

/** Change waiting tasks. Returns a row for each. */
export async function edit(
  db: Queryable,
  ids: readonly string[],
  { payload, ...changes }: StoredChanges,
  { queues, by, reason, filter }: ActingOnTasks = {},
): Promise<EditAnswer[]> {
  const rows = await db.query<{
    id: string;
    answer: EditAnswer['answer'];
    extra: { key?: string; holder?: string; status?: string; error?: string } | null;
  }>({
    text: `select id, answer, extra from taskq.edit($1, $2::jsonb || case when $3::jsonb is null then '{}' else jsonb_build_object('payload', $3::jsonb) end, $4)`,
    values: [ids, JSON.stringify(changes), payload ?? null, JSON.stringify({ queues, by, reason, filter })],
  });
  return rows.map(({ id, answer, extra }) => ({
    id,
    answer,
    key: extra?.key ?? null,
    holder: extra?.holder ?? null,
    status: extra?.status ?? null,
    problem: extra?.error ?? null,
  }));
}
