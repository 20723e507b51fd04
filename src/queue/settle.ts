import type { Outcome } from '../domain/outcome.ts';
import type { Lease } from '../domain/task.ts';
import type { Queryable } from '../lib/database.ts';

export interface Settlement extends Lease {
  readonly outcome: Outcome;
  /** Milliseconds since the task started; null: it never did. */
  readonly ranMs: number | null;
}

/** What became of a task that failed or was snoozed. */
export interface Consequence {
  readonly status: 'pending' | 'dead' | 'cancelled';
  readonly attempts: number;
  readonly retry_in_ms?: number;
  readonly reason?: string;
}

export interface SettleAnswer extends Lease {
  /**
   * `already`: a repeat, that attempt has an outcome. `lost`: the lease is somebody else's by now, or the row is
   * gone. `busy`: another transaction has the row locked; ask again.
   */
  readonly answer: 'recorded' | 'already' | 'lost' | 'busy';
  /** Null for what completed. */
  readonly consequence: Consequence | null;
}

/** Record outcomes, of all kinds in one statement. Answers each, in any order. */
export async function settle(db: Queryable, settlements: readonly Settlement[]): Promise<SettleAnswer[]> {
  const rows = await db.query<{
    id: string;
    lease_no: number;
    answer: SettleAnswer['answer'];
    extra: Consequence | null;
  }>({
    name: 'taskq_settle',
    text: 'select id, lease_no, answer, extra from taskq.settle($1)',
    values: [`[${settlements.map(asJson).join(',')}]`],
  });
  return rows.map((row) => ({
    id: row.id,
    leaseNo: row.lease_no,
    answer: row.answer,
    consequence: row.extra,
  }));
}

/** One element of the array that `taskq.settle` takes. A result is JSON text already. */
export function asJson({ id, leaseNo, outcome, ranMs }: Settlement): string {
  const head = JSON.stringify({
    id,
    lease_no: leaseNo,
    ran_ms: ranMs === null ? null : Math.round(ranMs),
    ...fieldsOf(outcome),
  });
  const result = 'result' in outcome ? outcome.result : null;
  return result === null ? head : `${head.slice(0, -1)},"result":${result}}`;
}

function fieldsOf(outcome: Outcome): object {
  const crashed = outcome.reportedBy === 'worker' && outcome.kind === 'failed' ? { crashed: true } : {};
  switch (outcome.kind) {
    case 'completed':
      return { outcome: 'completed', ...(outcome.resultNote && { result_note: outcome.resultNote }) };
    case 'failed':
      return { outcome: 'failed', error: outcome.error, delay_ms: outcome.delayMs, ...crashed };
    case 'dead':
      return { outcome: 'dead', error: outcome.error, reason: outcome.reason };
    case 'snoozed':
      return { outcome: 'snoozed', delay_ms: outcome.delayMs };
    case 'cancelled':
      return { outcome: 'cancelled', reason: outcome.reason };
    default:
      return outcome satisfies never;
  }
}
