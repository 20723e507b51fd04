import type { Callback } from '../../domain/callback.ts';
import type { ResultNote } from '../../domain/storable-result.ts';
import type { Queryable } from '../../lib/database.ts';
import type { Applying, TaskRow } from './task-row.ts';

/** An attempt that failed or was lost, or that left a result without completing. */
export interface AttemptError {
  readonly attempt: number;
  readonly outcome: string;
  readonly failed_at: string;
  readonly ran_ms: number | null;
  readonly retry_at: string | null;
  readonly lease_owner: string | null;
  /** That of the worker; null: it has none, or is no longer known. */
  readonly version: string | null;
  readonly lease_no: number;
  readonly error: Readonly<Record<string, unknown>> | null;
  readonly result: unknown;
  readonly result_note: ResultNote | null;
}

/** An operator's action on a task. */
export interface Action {
  readonly at: string;
  readonly verb: string;
  /** The role of the session. */
  readonly role: string;
  /** The name that the caller added. */
  readonly by: string | null;
  readonly reason: string | null;
}

export interface LogLine {
  readonly at: string;
  readonly level: string;
  readonly message: string;
  /** Absent: none; text: the beginning of their JSON, which was too long. */
  readonly fields?: unknown;
}

/** The last lines of the log of an attempt. */
export interface AttemptLog {
  readonly attempt: number;
  readonly lease_no: number;
  /** How many earlier lines were not kept. */
  readonly left_out: number;
  readonly lines: readonly LogLine[];
}

export interface ShownTask extends TaskRow {
  /** The tasks enqueued at its end; null: none. */
  readonly on_complete: Applying<Callback> | null;
  readonly on_dead: Applying<Callback> | null;
  /** Oldest first. */
  readonly errors: readonly AttemptError[];
  /** Oldest first. */
  readonly logs: readonly AttemptLog[];
  /** Oldest first. */
  readonly actions: readonly Action[];
}

/** Get everything known about a task. Undefined: no such task. */
export async function showTask(db: Queryable, id: string): Promise<ShownTask | undefined> {
  const rows = await db.query<{ task: ShownTask | null }>({
    text: 'select taskq.show_task($1) as task',
    values: [id],
  });
  return rows[0]!.task ?? undefined;
}
