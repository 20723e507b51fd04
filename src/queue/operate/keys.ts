import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/** A key held for a period, or forever. */
export interface HeldKey {
  readonly queue: string;
  readonly key: string;
  /** ISO 8601; null: forever. */
  readonly until: string | null;
}

export interface ListedKey extends HeldKey {
  readonly task_id: string;
  /** The status of that task; null: no such task is known. */
  readonly status: string | null;
}

/** `live`: a live task has the key; it becomes free when that task ends. */
export type KeyRelease = 'released' | 'live' | 'not_held';

/** List the keys held for a period or forever, by queue and key, starting after `after`. */
export async function listKeys(
  db: Queryable,
  filter: { readonly queue?: string | undefined; readonly key?: string | undefined },
  limit: number,
  after?: HeldKey,
): Promise<ListedKey[]> {
  const rows = await db.query<{ key: ListedKey }>({
    text: `select to_jsonb(k) - 'extra' || jsonb_build_object(
        'task_id', k.task_id::text, 'until', nullif(k.until, 'infinity')
      ) as key
      from taskq.list_keys($1, $2, $3, $4) as k`,
    values: [limit, after?.queue ?? null, after?.key ?? null, JSON.stringify(filter)],
  });
  return rows.map(({ key }) => key);
}

/** Free a key that is held for a period or forever. */
export async function releaseKey(
  db: Queryable,
  { queue, key }: { readonly queue: string; readonly key: string },
  { by, reason }: Acting = {},
): Promise<KeyRelease> {
  const rows = await db.query<{ answer: KeyRelease }>({
    text: 'select taskq.release_key($1, $2, $3) as answer',
    values: [queue, key, JSON.stringify({ by, reason })],
  });
  return rows[0]!.answer;
}
