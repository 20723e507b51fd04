/** A row of `taskq.all_tasks` as JSON: the keys are the columns' names, ids are strings, times ISO 8601. */
export interface TaskRow {
  readonly id: string;
  readonly queue: string;
  readonly type: string;
  readonly status: string;
  readonly [column: string]: unknown;
}
