import type { ResultNote } from '../../domain/storable-result.ts';
import type { TaskStatus } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';

/** How a parent of a step has ended. */
export interface ParentRow {
  readonly step: string;
  readonly status: TaskStatus | 'gone';
  readonly result: unknown;
  /** What remains of a result that could not be stored. */
  readonly result_note: ResultNote | null;
}

/** Get the parents of a task's step. Empty: it is no step, or has none. */
export function getParents(db: Queryable, id: string): Promise<ParentRow[]> {
  return db.query<ParentRow>({
    text: 'select step, status, result, result_note from taskq.get_parents($1)',
    values: [id],
  });
}
