import type { Queryable } from '../../lib/database.ts';

export interface Unfinished {
  /** Running anywhere, due, or waiting after a started attempt. */
  readonly unfinished: number;
  /** Milliseconds until the first waiting task is due; null: none waits. */
  readonly nextDueMs: number | null;
  /** Tasks left although nothing is unfinished, by reason. */
  readonly leftForLater: Readonly<Record<string, number>>;
}

/** Count the tasks of these types that `--until-idle` waits for; null `queues`: in all queues. */
export async function countUnfinished(
  db: Queryable,
  types: readonly string[],
  queues: readonly string[] | null,
): Promise<Unfinished> {
  const rows = await db.query<{
    unfinished: string;
    next_due_ms: number | null;
    left_for_later: Record<string, number>;
  }>({
    text: 'select unfinished, next_due_ms, left_for_later from taskq.count_unfinished($1, $2)',
    values: [types, queues],
  });
  const row = rows[0]!;
  return {
    unfinished: Number(row.unfinished),
    nextDueMs: row.next_due_ms,
    leftForLater: row.left_for_later,
  };
}
