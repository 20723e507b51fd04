/** The settings in effect for a task now, each with its source. */
export interface Applies {
  readonly max_attempts: Applying<number | 'unlimited'>;
  /** Null: no timeout. */
  readonly timeout_ms: Applying<number | null>;
  readonly backoff: Applying<Readonly<Record<string, unknown>>>;
  readonly retention: Applying<string>;
}

export interface Applying<Value> {
  readonly value: Value;
  readonly from: 'task' | 'type' | 'queue' | 'defaults';
}

/** A row of `taskq.all_tasks` as JSON: keys are column names, ids are strings, times are ISO 8601. */
export interface TaskRow {
  readonly id: string;
  readonly queue: string;
  readonly type: string;
  readonly status: string;
  readonly applies: Applies;
  readonly [column: string]: unknown;
}
