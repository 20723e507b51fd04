import type { Queryable } from '../../lib/database.ts';
import type { SetSetting } from './get-type.ts';

/** A queue with its settings; null: the type's or the database's setting applies. Times are ISO 8601. */
export interface ListedQueue {
  readonly name: string;
  /** Null: not paused. */
  readonly paused_at: string | null;
  /** Null: until resumed. */
  readonly paused_until: string | null;
  readonly paused_by: string | null;
  readonly pause_reason: string | null;
  readonly max_attempts: number | null;
  readonly timeout_ms: number | null;
  readonly expires_ms: number | null;
  readonly backoff: Readonly<Record<string, unknown>> | null;
  readonly retention: string | null;
  readonly errors_retention: string | null;
  readonly dead_retention: string | null;
  readonly group_limit: number | null;
  readonly group_rate: string | null;
  readonly group_burst: number | null;
  readonly group_order: string | null;
  readonly group_on_dead: string | null;
  readonly group_by: string | null;
  readonly max_running: number | null;
  readonly rate: string | null;
  /** Null: there is no rate. */
  readonly burst: number | null;
  /** The queues into which its handlers may enqueue; null: any. */
  readonly may_enqueue: readonly string[] | null;
  readonly max_losses: number | null;
  readonly on_failure: string | null;
  readonly record_leases: boolean | null;
  readonly record_events: boolean | null;
  /** What is set, with its source, by column. */
  readonly sources: Readonly<Record<string, SetSetting>>;
  readonly waiting: number;
  /** True: the count ran out of time, so `waiting` is a lower bound. */
  readonly at_least: boolean;
}

export interface ListQueuesOptions {
  /** Only this one. */
  readonly name?: string;
  /** How long to count waiting tasks, in milliseconds; 0: not at all. Default 500. */
  readonly countMs?: number;
}

/** List the queues that have a live task, a dead letter in the last sample, a setting or a pause, in order. */
export async function listQueues(
  db: Queryable,
  { name, countMs }: ListQueuesOptions = {},
): Promise<ListedQueue[]> {
  const rows = await db.query<{ queue: ListedQueue }>({
    text: "select to_jsonb(q) - 'extra' || q.extra as queue from taskq.list_queues($1) as q",
    values: [JSON.stringify({ name, count_ms: countMs })],
  });
  return rows.map(({ queue }) => queue);
}
