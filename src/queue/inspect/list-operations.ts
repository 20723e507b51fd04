import type { OperationFailure, OperationState, OperationVerb } from '../../domain/operation.ts';
import type { Queryable } from '../../lib/database.ts';

/** A verb on many tasks, as `taskq.list_operations` returns it. Times are ISO 8601. */
export interface ListedOperation {
  readonly id: string;
  readonly verb: OperationVerb;
  /** As the database takes it, without tasks that came after the start. */
  readonly filter: Readonly<Record<string, unknown>>;
  /** Of the verb: payload, patch, delay_ms, max_attempts. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly state: OperationState;
  /** How many tasks there were at the start. */
  readonly matched: number;
  /** There may be more: counting ends at 10,000. */
  readonly at_least: boolean;
  readonly done: number;
  /** Tasks that no longer had a status for the verb. */
  readonly skipped: number;
  readonly failed: number;
  /** How many of the revived tasks died again while it ran; null: it does not check. */
  readonly dead_again: number | null;
  /** How many of them had not ended at the last check; null as above. */
  readonly not_ended: number | null;
  /** The first ten of these, if a canary waits for them; else null. */
  readonly waits_for: readonly string[] | null;
  readonly rate: string | null;
  readonly canary: number | null;
  /** A percentage. */
  readonly stop_at: number | null;
  readonly role: string;
  readonly by: string | null;
  readonly via: string | null;
  readonly reason: string | null;
  readonly created_at: string;
  readonly ended_at: string | null;
  readonly stopped_because: string | null;
  /** An error after which it continues later. */
  readonly trouble: string | null;
  /** The first hundred that failed. */
  readonly failures: readonly OperationFailure[];
}

export interface ListOperationsOptions {
  /** Only those before this id. */
  readonly after?: string | null;
  readonly limit?: number;
  readonly state?: OperationState | undefined;
  /** Only this one. */
  readonly id?: string;
}

/** List operations, newest first. */
export async function listOperations(
  db: Queryable,
  { after = null, limit = 100, state, id }: ListOperationsOptions = {},
): Promise<ListedOperation[]> {
  const rows = await db.query<{ found: ListedOperation }>({
    text: `select to_jsonb(o) - 'extra' || '{"not_ended": null, "waits_for": null}' || coalesce(o.extra, '{}')
          || jsonb_build_object('id', o.id::text) as found
      from taskq.list_operations($1, $2, $3) as o`,
    values: [limit, after, JSON.stringify({ state, id })],
  });
  return rows.map(({ found }) => found);
}

/** Show an operation. Undefined: there is none, or it ended long ago. */
export async function showOperation(db: Queryable, id: string): Promise<ListedOperation | undefined> {
  return (await listOperations(db, { id, limit: 1 }))[0];
}

/** Whether an operation has not ended. */
export function goesOn({ state }: Pick<ListedOperation, 'state'>): boolean {
  return state === 'running' || state === 'canary';
}
