import type { Queryable } from '../lib/database.ts';
import type { Acting } from './acting.ts';

export interface RerunOptions extends Acting {
  /** JSON text that replaces the payload. */
  readonly payload?: string;
  readonly delayMs?: number;
}

export interface RerunAnswer {
  readonly id: string;
  /** `key_held`: another task has its key by now, or it holds it itself for a period. */
  readonly answer: 'enqueued' | 'key_held' | 'not_finished';
  /** The number of the new task. */
  readonly newId: string | null;
  readonly key: string | null;
  readonly holder: string | null;
  /** Of one that is not finished; null: nothing is known of it. */
  readonly status: string | null;
}

/** Run finished tasks again, each as a new task. A row for each. */
export async function rerun(
  db: Queryable,
  ids: readonly string[],
  { payload, delayMs, by }: RerunOptions = {},
): Promise<RerunAnswer[]> {
  const rows = await db.query<{
    id: string;
    answer: RerunAnswer['answer'];
    extra: { id?: string; key?: string; holder?: string; status?: string } | null;
  }>({
    text: `select id, answer, extra from taskq.rerun($1, $2::jsonb || case when $3::jsonb is null then '{}' else jsonb_build_object('payload', $3::jsonb) end)`,
    values: [ids, JSON.stringify({ delay_ms: delayMs, by }), payload ?? null],
  });
  return rows.map(({ id, answer, extra }) => ({
    id,
    answer,
    newId: extra?.id ?? null,
    key: extra?.key ?? null,
    holder: extra?.holder ?? null,
    status: extra?.status ?? null,
  }));
}
