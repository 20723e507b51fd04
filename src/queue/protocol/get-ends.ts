import type { ResultNote } from '../../domain/storable-result.ts';
import type { FinishedStatus, LiveStatus } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';

/** How a task ended, or that it is still live (`live`). */
export interface EndRow {
  readonly id: string;
  readonly type: string;
  readonly status: LiveStatus | FinishedStatus | 'dead';
  readonly result: unknown;
  readonly result_note: ResultNote | null;
  readonly error: Readonly<Record<string, unknown>> | null;
  readonly reason: string | null;
  /** What happened to the handler of a cancelled task; null: it ended by itself, or there was none. */
  readonly ending: 'killed' | 'worker_lost' | null;
  readonly live: boolean;
}

/** Get how these tasks ended, or that they are still live. No row for an unknown id. */
export function getEnds(db: Queryable, ids: readonly string[]): Promise<EndRow[]> {
  return db.query<EndRow>({
    text: 'select id, type, status, result, result_note, error, reason, ending, live from taskq.get_ends($1)',
    values: [ids],
  });
}

/** Request notifications of the ends of these tasks, and keep them for at least an hour. */
export async function askEnds(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query({ text: 'select taskq.ask_ends($1)', values: [ids] });
}
