import type { Queryable } from '../lib/database.ts';

export interface ReviveOptions {
  /** JSON text that replaces the payload. */
  readonly payload?: string;
  readonly delayMs?: number;
  readonly maxAttempts?: number;
}

export interface ReviveAnswer {
  readonly id: string;
  /** `key_held`: another live task has its key by now. */
  readonly answer: 'revived' | 'key_held' | 'not_dead';
  readonly key: string | null;
  readonly holder: string | null;
  /** Of one that is not dead; null: nothing is known of it. */
  readonly status: string | null;
}

/** Bring dead letters back. A row for each. */
export async function revive(
  db: Queryable,
  ids: readonly string[],
  options: ReviveOptions = {},
): Promise<ReviveAnswer[]> {
  const { payload, delayMs, maxAttempts } = options;
  const told = JSON.stringify({ delay_ms: delayMs, max_attempts: maxAttempts });
  const rows = await db.query<{
    id: string;
    answer: ReviveAnswer['answer'];
    extra: { key?: string; holder?: string; status?: string } | null;
  }>({
    text: `select id, answer, extra from taskq.revive($1, $2::jsonb || case when $3::jsonb is null then '{}' else jsonb_build_object('payload', $3::jsonb) end)`,
    values: [ids, told, payload ?? null],
  });
  return rows.map(({ id, answer, extra }) => ({
    id,
    answer,
    key: extra?.key ?? null,
    holder: extra?.holder ?? null,
    status: extra?.status ?? null,
  }));
}
