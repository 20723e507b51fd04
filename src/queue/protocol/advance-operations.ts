import type { OperationState, OperationVerb } from '../../domain/operation.ts';
import type { Queryable } from '../../lib/database.ts';

export interface EndedOperation {
  readonly id: string;
  readonly verb: OperationVerb;
  readonly state: OperationState;
  readonly done: number;
  readonly failed: number;
  /** Why it stopped or failed. */
  readonly because: string | null;
}

export interface Advanced {
  /** How many operations had a batch. 0: none is due, or other sessions advance them. */
  readonly advanced: number;
  /** Milliseconds until the next batch is due; null: no operation is running. */
  readonly nextMs: number | null;
  readonly ended: readonly EndedOperation[];
}

/** Do a batch of each operation that is due and that no other session is advancing. */
export async function advanceOperations(db: Queryable): Promise<Advanced> {
  const rows = await db.query<{
    advanced: number;
    next_ms: string | null;
    ended: readonly EndedOperation[];
  }>({ text: 'select advanced, next_ms, ended from taskq.advance_operations()' });
  const { advanced, next_ms: nextMs, ended } = rows[0]!;
  return { advanced, nextMs: nextMs === null ? null : Number(nextMs), ended };
}
