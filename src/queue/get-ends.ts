import type { Queryable } from '../lib/database.ts';

export interface TaskEnd {
  readonly id: string;
  readonly status: string;
  readonly result: unknown;
  readonly result_note: unknown;
  readonly error: Readonly<Record<string, unknown>> | null;
  readonly reason: string | null;
  /** It has not ended. */
  readonly live: boolean;
}

/** How these tasks ended, or that they still live; no row for an unknown id. */
export function getEnds(db: Queryable, ids: readonly string[]): Promise<TaskEnd[]> {
  return db.query<TaskEnd>({ text: 'select * from taskq.get_ends($1)', values: [ids] });
}
