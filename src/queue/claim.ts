import type { ClaimedTask } from '../domain/task.ts';
import type { Queryable } from '../lib/database.ts';

/** A place in one level (queue and priority): the last task claimed there. */
export interface Place {
  readonly availableAtUs: number;
  readonly id: number;
}

/** Per queue, its ten places by priority; null: from the beginning. */
export type Cursor = ReadonlyMap<string, readonly (Place | null)[]>;

export interface ClaimRequest {
  readonly workerId: number;
  /** In the order of their turn. */
  readonly queues: readonly string[];
  readonly types: readonly string[];
  /** How many go straight into a slot. */
  readonly start: number;
  /** How many more to claim ahead. */
  readonly ahead: number;
  readonly leaseMs: number;
  /** Null: a full sweep, from the beginning of every level. */
  readonly cursor: Cursor | null;
  /** Null: exactly from the cursor on. */
  readonly lookBackMs: number | null;
}

export interface ClaimRow {
  readonly id: string;
  readonly lease_no: number;
  readonly queue: string;
  readonly type: string;
  readonly priority: number;
  readonly available_at_us: string;
  readonly attempts: number;
  readonly losses: number;
  readonly timeout_ms: string | null;
  readonly group_key: string | null;
  readonly payload: string;
  readonly running: boolean;
  readonly extra: { readonly traceparent?: string } | null;
}

/** The columns of a ClaimRow. */
export const CLAIMED = `id, lease_no, queue, type, priority, available_at_us, attempts, losses, timeout_ms, group_key,
  payload::text as payload, running, extra`;

/** Claim due tasks, most urgent first. Empty: nothing is due here, or others are claiming it. */
export async function claim(db: Queryable, request: ClaimRequest): Promise<ClaimedTask[]> {
  const { queues, cursor } = request;
  const rows = await db.query<ClaimRow>({
    name: 'taskq_claim',
    text: `select ${CLAIMED} from taskq.claim($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [
      request.workerId,
      queues,
      request.types,
      request.start,
      request.ahead,
      request.leaseMs,
      cursor === null ? null : flatten(cursor, queues),
      request.lookBackMs,
    ],
  });
  // They come in the order of the table's pages.
  return rows.map(taskOf).sort(byUrgency);
}

/** Read a row of `taskq.claim` or `taskq.claim_one`. */
export function taskOf(row: ClaimRow): ClaimedTask {
  return {
    id: row.id,
    leaseNo: row.lease_no,
    type: row.type,
    queue: row.queue,
    payload: row.payload,
    priority: row.priority,
    attempts: row.attempts,
    losses: row.losses,
    availableAtUs: Number(row.available_at_us),
    timeoutMs: row.timeout_ms === null ? null : Number(row.timeout_ms),
    groupKey: row.group_key,
    running: row.running,
    traceparent: row.extra?.traceparent ?? null,
  };
}

function byUrgency(a: ClaimedTask, b: ClaimedTask): number {
  return a.priority - b.priority || a.availableAtUs - b.availableAtUs || Number(a.id) - Number(b.id);
}

/** 20 numbers per queue, as `taskq.claim` takes them. */
function flatten(cursor: Cursor, queues: readonly string[]): (number | null)[] {
  return queues.flatMap((queue) => {
    const places = cursor.get(queue) ?? [];
    return Array.from({ length: 10 }, (_, priority) => places[priority] ?? null).flatMap((place) =>
      place === null ? [null, null] : [place.availableAtUs, place.id],
    );
  });
}
