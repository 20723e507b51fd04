import type { FinishedStatus, LiveStatus } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';

/** How a task ended, or (`live`) that it has not. */
export interface EndRow {
  readonly id: string;
  readonly type: string;
  readonly status: LiveStatus | FinishedStatus | 'dead';
  readonly result: unknown;
  readonly result_note: unknown;
  readonly error: Readonly<Record<string, unknown>> | null;
  readonly reason: string | null;
  /** What became of the handler of a cancelled one; null: it ended by itself, or there was none. */
  readonly ending: 'killed' | 'worker_lost' | null;
  readonly live: boolean;
}

/** How these tasks ended, or that they still live; no row for an unknown id. */
export function getEnds(db: Queryable, ids: readonly string[]): Promise<EndRow[]> {
  return db.query<EndRow>({
    text: 'select id, type, status, result, result_note, error, reason, ending, live from taskq.get_ends($1)',
    values: [ids],
  });
}

/** Ask that the ends of these tasks be told, and kept for an hour at least. */
export async function askEnds(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query({ text: 'select taskq.ask_ends($1)', values: [ids] });
}
