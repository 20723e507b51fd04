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
const PAGE_BLOCKS = 4096;

/**
 * Bring back the tasks whose lease ran out, if a scan is due, page by page. Undefined: no scan was due. Empty: one
 * was made and found nothing.
 */
export async function rescue(db: Queryable, request: RescueRequest): Promise<Rescued[] | undefined> {
  const due = await db.query<{ blocks: string }>({
    name: 'taskq_begin_rescue',
    text: 'select blocks from taskq.begin_rescue($1, $2)',
    values: [request.own, request.gapMs],
  });
  if (due.length === 0) return undefined;
  const blocks = Number(due[0]!.blocks);
  const rescued: Rescued[] = [];
  let costMs = 0;
  for (let from = 0; from < blocks && !request.signal.aborted; from += PAGE_BLOCKS) {
    const began = performance.now();
    rescued.push(...(await rescuePage(db, request, from)));
    costMs += performance.now() - began;
  }
  if (!request.signal.aborted) {
    await db.query({ text: 'select taskq.end_rescue($1)', values: [costMs] });
  }
  return rescued;
}

async function rescuePage(db: Queryable, request: RescueRequest, from: number): Promise<Rescued[]> {
  const rows = await db.query<{
    id: string;
    queue: string;
    type: string;
    status: Rescued['status'];
    available_at_us: string;
  }>({
    text: 'select id, queue, type, status, available_at_us from taskq.rescue($1, $2, $3, $4)',
    values: [from, from + PAGE_BLOCKS, request.workerId, request.held()],
  });
  return rows.map(({ available_at_us, ...row }) => ({ ...row, availableAtUs: Number(available_at_us) }));
}
