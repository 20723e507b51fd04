import type { Queryable } from '../../lib/database.ts';

export interface RescueRequest {
  readonly caller: RescueCaller;
  readonly others: WatchedWorkers;
  readonly scan: ScanRequest;
  readonly signal: AbortSignal;
}

/** The worker that looks; the scan also rescues its tasks that it does not know of. */
export interface RescueCaller {
  readonly workerId: number;
  /** The ids that it does know of. */
  readonly held: () => readonly string[];
  /** The answer of a claim was lost: look for the tasks it took. */
  readonly hasLostClaim: boolean;
}

/** What the caller has seen of the other workers. */
export interface WatchedWorkers {
  /** Silent ones, each with the heartbeat that has been its last for long enough. */
  readonly silent: Readonly<Record<string, number>>;
  /** How long others have been watched so far, for later watchers. */
  readonly watching?: Readonly<Record<string, Watching>>;
}

export interface ScanRequest {
  /** Least time between two scans of all workers together, in milliseconds. */
  readonly gapMs: number;
  /** Make no scan, even if one is due. */
  readonly onlyLook?: boolean;
  /** Scan even where another transaction holds the row by which workers take turns. */
  readonly outOfTurn?: boolean;
}

/** The transaction that holds a row; null: it had ended, or cannot be identified. */
export type Holder = Readonly<Record<string, unknown>> | null;

/** How long a worker has been watched at this heartbeat. */
export interface Watching {
  readonly beat_us: number;
  readonly watched_ms: number;
}

/** A worker whose last heartbeat is at least a quarter of its lease ago, or ahead of the database's clock. */
export interface Quiet {
  readonly workerId: string;
  readonly beatUs: number;
  readonly leaseMs: number;
  /** How long it has been watched at that heartbeat, by all watchers so far. */
  readonly watchedMs: number;
  /** The heartbeat is half a lease old, or ahead; a live worker's is so only after a step of the clock. */
  readonly isLate: boolean;
}

export interface Look {
  readonly quiet: readonly Quiet[];
  /** Undefined: no scan was due. Empty: a scan found nothing. */
  readonly rescued: readonly Rescued[] | undefined;
  /** Whether the scan has read the whole table. */
  readonly isComplete: boolean;
  /** The transaction that holds the row by which workers take turns. Undefined: the row was free. */
  readonly heldBy?: Holder;
  /** Set while that row is held. */
  readonly rank?: WorkerRank;
}

/** A worker's rank among the live workers, from 0 on, and their number. */
export interface WorkerRank {
  readonly rank: number;
  readonly of: number;
}

export interface Rescued {
  readonly id: string;
  readonly queue: string;
  readonly type: string;
  /** `pending`, or how it ended instead; `refused`: it is unchanged, because the database refuses the rescue. */
  readonly status: 'pending' | 'dead' | 'cancelled' | 'refused';
  readonly availableAtUs: number;
  /** The database's error for a refused task. */
  readonly error?: string;
}

/** 32 MB of the table, some milliseconds. */
export const PAGE_BLOCKS = 4096;

/**
 * Look at the other workers and, if a scan is due, bring back the tasks whose lease ran out: in one statement, or page
 * by page where the table has more than `pageBlocks` blocks.
 */
export async function rescue(db: Queryable, request: RescueRequest, pageBlocks = PAGE_BLOCKS): Promise<Look> {
  const { caller, others, scan: asked } = request;
  const { gapMs, onlyLook = false } = asked;
  const { silent, watching = {} } = others;
  const options = JSON.stringify({ watching, only_look: onlyLook });
  const rows = await db.query<{ blocks: string | null; rescued: RescuedRow[] | null; extra: Extra }>({
    name: 'taskq_begin_rescue',
    text: 'select blocks, rescued, extra from taskq.begin_rescue($1, $2, $3, $4, $5, $6, $7)',
    values: [
      ...[caller.hasLostClaim, gapMs, caller.workerId, caller.held(), pageBlocks],
      ...[JSON.stringify(silent), options],
    ],
  });
  const { blocks, rescued, extra } = rows[0]!;
  const quiet = Object.entries(extra.quiet).map(([id, one]) => ({
    workerId: id,
    beatUs: one.beat_us,
    leaseMs: one.lease_ms,
    watchedMs: one.watched_ms,
    isLate: one.is_late,
  }));
  if (extra.held !== undefined) {
    const { by: heldBy, place: rank } = extra.held;
    if (asked.outOfTurn !== true) return { quiet, rescued: undefined, isComplete: false, heldBy, rank };
    const scan = { blocks: extra.held.blocks, pageBlocks, extra: { ...extra, options: extra.held.options } };
    return { quiet, ...(await rescueInPages(db, request, scan)), heldBy, rank };
  }
  if (blocks === null) return { quiet, rescued: undefined, isComplete: false };
  if (rescued !== null) return { quiet, rescued: rescued.map(rescuedOf), isComplete: true };
  return { quiet, ...(await rescueInPages(db, request, { blocks: Number(blocks), pageBlocks, extra })) };
}

interface Scan {
  readonly blocks: number;
  readonly pageBlocks: number;
  readonly extra: Extra;
}

async function rescueInPages(
  db: Queryable,
  { caller, signal }: RescueRequest,
  { blocks, pageBlocks, extra }: Scan,
): Promise<{ readonly rescued: readonly Rescued[]; readonly isComplete: boolean }> {
  const options = JSON.stringify(extra.options);
  const rescued: Rescued[] = [];
  let costMs = 0;
  let from = 0;
  for (; from < blocks && !signal.aborted; from += pageBlocks) {
    const began = performance.now();
    rescued.push(...(await rescuePage(db, caller, [from, from + pageBlocks], options)));
    costMs += performance.now() - began;
  }
  const isComplete = from >= blocks;
  if (isComplete) await db.query({ text: 'select taskq.end_rescue($1, $2)', values: [costMs, options] });
  return { rescued, isComplete };
}

async function rescuePage(
  db: Queryable,
  caller: RescueCaller,
  blocks: readonly [from: number, to: number],
  options: string,
): Promise<Rescued[]> {
  const rows = await db.query<RescuedRow>({
    text: 'select id, queue, type, status, available_at_us, extra from taskq.rescue($1, $2, $3, $4, $5)',
    values: [...blocks, caller.workerId, caller.held(), options],
  });
  return rows.map(rescuedOf);
}

interface Extra {
  readonly quiet: Readonly<Record<string, StoredQuiet>>;
  /** Options to pass on to a scan that is due. */
  readonly options?: object;
  readonly held?: {
    readonly by: Holder;
    readonly place: WorkerRank;
    readonly blocks: number;
    readonly options: object;
  };
}

interface StoredQuiet {
  readonly beat_us: number;
  readonly lease_ms: number;
  readonly watched_ms: number;
  readonly is_late: boolean;
}

interface RescuedRow {
  readonly id: string;
  readonly queue: string;
  readonly type: string;
  readonly status: Rescued['status'];
  readonly available_at_us: string | number;
  readonly extra: { readonly error?: string } | null;
}

function rescuedOf({ id, queue, type, status, available_at_us, extra }: RescuedRow): Rescued {
  const rescued = { id, queue, type, status, availableAtUs: Number(available_at_us) };
  return extra?.error === undefined ? rescued : { ...rescued, error: extra.error };
}
