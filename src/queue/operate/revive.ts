import type { Queryable } from '../../lib/database.ts';
import type { ActingOnTasks } from './acting.ts';

export interface ReviveOptions extends ActingOnTasks {
  /** JSON text that replaces the payload. */
  readonly payload?: string;
  readonly delayMs?: number;
  readonly maxAttempts?: number;
  /** False: all except those added by hand. True: only those. */
  readonly byHand?: boolean | undefined;
}

export interface ReviveAnswer {
  readonly id: string;
  /**
   * `key_held`: another task now has its key. `left_out`: `byHand` excludes it. `refused`: the database refuses the task,
   * as it does a payload of more than 1 MB that was put in by hand.
   */
  readonly answer: 'revived' | 'key_held' | 'left_out' | 'not_dead' | 'refused';
  readonly key: string | null;
  readonly holder: string | null;
  /** The status of a task that is not dead; null: no such task is known. */
  readonly status: string | null;
  /** Why the database refuses it. */
  readonly problem: string | null;
}

/** Bring dead letters back. Returns a row for each. */
export async function revive(
  db: Queryable,
  ids: readonly string[],
  options: ReviveOptions = {},
): Promise<ReviveAnswer[]> {
  const { payload, delayMs, maxAttempts, byHand, queues, by, reason, filter } = options;
  const changes = JSON.stringify({
    delay_ms: delayMs,
    max_attempts: maxAttempts,
    by_hand: byHand,
    ...{ queues, by, reason, filter },
  });
  const rows = await db.query<{
    id: string;
    answer: ReviveAnswer['answer'];
    extra: { key?: string; holder?: string; status?: string; error?: string } | null;
  }>({
    text: `select id, answer, extra from taskq.revive($1, $2::jsonb || case when $3::jsonb is null then '{}' else jsonb_build_object('payload', $3::jsonb) end)`,
    values: [ids, changes, payload ?? null],
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
