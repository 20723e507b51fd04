import type { Callback } from '../../domain/callback.ts';
import type { Queryable } from '../../lib/database.ts';
import type { SetSetting } from './get-type.ts';

/** A known type with the settings for its tasks; null: not set. Times are ISO 8601. */
export interface ListedType {
  readonly name: string;
  readonly max_attempts: number | null;
  readonly timeout_ms: number | null;
  /** The default for how long its tasks may wait. */
  readonly expires_ms: number | null;
  readonly backoff: Readonly<Record<string, unknown>> | null;
  readonly retention: string | null;
  /** The default queue of its tasks. */
  readonly queue: string | null;
  readonly priority: number | null;
  /** Its setting, as the database stores it. */
  readonly breaker: Readonly<Record<string, unknown>> | null;
  /** Since when its breaker is open; null: it is closed. */
  readonly breaker_opened_at: string | null;
  /** When a task may try the open breaker; null: not before the probe has ended, or someone resumes the type. */
  readonly breaker_probe_at: string | null;
  /** The task that tries it now. */
  readonly breaker_probe_id: string | null;
  /** Of which attempts the log is kept; null: `failed`. */
  readonly keep_log: string | null;
  readonly on_failure: string | null;
  /** What follows its tasks when they complete or die. */
  readonly on_complete: Callback | null;
  readonly on_dead: Callback | null;
  readonly first_seen_at: string;
  /** Null: it was added and no worker has registered it yet. */
  readonly last_seen_at: string | null;
  /** The live workers that handle it. */
  readonly workers: readonly string[];
  /** What is set, with its source, by column. */
  readonly sources: Readonly<Record<string, SetSetting>>;
  readonly waiting: number;
  /** True: the count ran out of time, so `waiting` is a lower bound. */
  readonly at_least: boolean;
}

/** List the known types, in order. Counts waiting tasks for `countMs` milliseconds; default 500. */
export async function listTypes(db: Queryable, countMs?: number): Promise<ListedType[]> {
  const rows = await db.query<{ type: ListedType }>({
    text: "select to_jsonb(y) - 'extra' || y.extra as type from taskq.list_types($1) as y",
    values: [JSON.stringify({ count_ms: countMs })],
  });
  return rows.map(({ type }) => type);
}
