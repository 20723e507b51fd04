import type { Queryable } from '../../lib/database.ts';
import type { ActingOnTasks } from './acting.ts';

export interface RetryAnswer {
  readonly id: string;
  /** `due`: it was already due and keeps its place. */
  readonly answer: 'retried' | 'due' | 'not_waiting';
  /** The status of a task that does not wait; null: no such task is known. */
  readonly status: string | null;
}

/** Make waiting tasks due now, whatever they wait for. Returns a row for each. */
export function retry(
  db: Queryable,
  ids: readonly string[],
  { queues, by, reason, filter }: ActingOnTasks = {},
): Promise<RetryAnswer[]> {
  return db.query<RetryAnswer>({
    text: "select id, answer, extra ->> 'status' as status from taskq.retry($1, $2)",
    values: [ids, JSON.stringify({ queues, by, reason, filter })],
  });
}
