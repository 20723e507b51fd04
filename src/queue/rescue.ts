import type { Queryable } from '../lib/database.ts';

export interface RescueRequest {
  /** The caller, whose own tasks are taken too where it does not know of them. */
  readonly workerId: number;
  /** The ids the caller does know of. */
  readonly held: () => readonly string[];
  /** The answer of a claim was lost: look for what it took. */
  readonly own: boolean;
  /** Least time between two scans of all workers together, in milliseconds. */
  readonly gapMs: number;
  readonly signal: AbortSignal;
}

export interface Rescued {
  readonly id: string;
  readonly queue: string;
  readonly type: string;
  /** `pending`, or how it ended instead. */
  readonly status: 'pending' | 'dead' | 'cancelled';
  readonly availableAtUs: number;
}

/** 32 MB of the table, some milliseconds. */
export const PAGE_BLOCKS = 4096;

/**
 * Bring back the tasks whose lease ran out, if a scan is due: in one statement, or page by page where the table has more
 * than so many blocks. Undefined: no scan was due. Empty: one was made and found nothing.
 */
export async function rescue(
  db: Queryable,
  request: RescueRequest,
  pageBlocks = PAGE_BLOCKS,
): Promise<Rescued[] | undefined> {
  const due = await db.query<{ blocks: string; rescued: RescuedRow[] | null }>({
    name: 'taskq_begin_rescue',
    text: 'select blocks, rescued from taskq.begin_rescue($1, $2, $3, $4, $5)',
    values: [request.own, request.gapMs, request.workerId, request.held(), pageBlocks],
  });
  if (due.length === 0) return undefined;
  const { blocks, rescued: all } = due[0]!;
  if (all !== null) return all.map(rescuedOf);
  const rescued: Rescued[] = [];
  let costMs = 0;
  for (let from = 0; from < Number(blocks) && !request.signal.aborted; from += pageBlocks) {
    const began = performance.now();
    rescued.push(...(await rescuePage(db, request, [from, from + pageBlocks])));
    costMs += performance.now() - began;
  }
  if (!request.signal.aborted) {
    await db.query({ text: 'select taskq.end_rescue($1)', values: [costMs] });
  }
  return rescued;
}

async function rescuePage(
  db: Queryable,
  request: RescueRequest,
  blocks: readonly [from: number, to: number],
): Promise<Rescued[]> {
  const rows = await db.query<RescuedRow>({
    text: 'select id, queue, type, status, available_at_us from taskq.rescue($1, $2, $3, $4)',
    values: [...blocks, request.workerId, request.held()],
  });
  return rows.map(rescuedOf);
}

interface RescuedRow {
  readonly id: string;
  readonly queue: string;
  readonly type: string;
  readonly status: Rescued['status'];
  readonly available_at_us: string | number;
}

function rescuedOf({ id, queue, type, status, available_at_us }: RescuedRow): Rescued {
  return { id, queue, type, status, availableAtUs: Number(available_at_us) };
}
