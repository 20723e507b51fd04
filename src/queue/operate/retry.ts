import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

export interface RetryAnswer {
  readonly id: string;
  /** `due`: it was due before, and keeps its place. */
  readonly answer: 'retried' | 'due' | 'not_waiting';
  /** Of one that does not wait; null: nothing is known of it. */
  readonly status: string | null;
}

/** Let waiting tasks run now, whatever they waited for. A row for each. */
export function retry(db: Queryable, ids: readonly string[], { by }: Acting = {}): Promise<RetryAnswer[]> {
  return db.query<RetryAnswer>({
    text: "select id, answer, extra ->> 'status' as status from taskq.retry($1, $2)",
    values: [ids, JSON.stringify({ by })],
  });
}
